//! State in a table of DynamoDB, where that is built in.

pub(crate) use driver::{create_table, open};

#[cfg(feature = "dynamodb")]
mod driver {
    use std::sync::Arc;

    use curtsy::store::dynamodb::Expiry;
    use curtsy::store::{DynamoDbStore, DynamoDbTable, HostStore, StoreError};

    pub(crate) async fn open(table: &DynamoDbTable) -> Result<Arc<dyn HostStore>, StoreError> {
        Ok(Arc::new(DynamoDbStore::open(table).await?))
    }

    /// Makes the table, and says what there is to know of it.
    pub(crate) async fn create_table(table: &DynamoDbTable) -> Result<&'static str, StoreError> {
        Ok(match DynamoDbStore::create_table(table).await? {
            Expiry::Deleted => "",
            Expiry::Kept => "; this server deletes nothing that has aged out",
        })
    }
}

/// Without the feature no such URL can be read.
#[cfg(not(feature = "dynamodb"))]
mod driver {
    use std::sync::Arc;

    use curtsy::store::{DynamoDbTable, HostStore, StoreError, StoreErrorKind};

    pub(crate) async fn open(_: &DynamoDbTable) -> Result<Arc<dyn HostStore>, StoreError> {
        missing()
    }

    pub(crate) async fn create_table(_: &DynamoDbTable) -> Result<&'static str, StoreError> {
        missing()
    }

    fn missing<T>() -> Result<T, StoreError> {
        Err(StoreError::new(
            StoreErrorKind::Invalid,
            "no DynamoDB is built in",
        ))
    }
}
