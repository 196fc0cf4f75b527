//! Making the table.

use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TableDescription, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use tokio::time::Instant;

use super::failure::{of_call, told};
use super::item::{EXPIRES, KEY, PART};
use super::link::Link;
use crate::error::{StoreError, StoreErrorKind};

/// A table that is not ready by then will not be; it takes some ten seconds.
const WITHIN: Duration = Duration::from_secs(120);
/// The wait between two looks at it.
const PAUSE: Duration = Duration::from_millis(500);

/// What becomes of values that have aged out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// They are deleted.
    Deleted,
    /// They stay: this server deletes none.
    Kept,
}

/// Makes the table unless it is there, and waits until it can be used.
pub(super) async fn create(link: &Link) -> Result<Expiry, StoreError> {
    let name = link.table.name();
    let keys = [(KEY, KeyType::Hash), (PART, KeyType::Range)];
    let mut create = link
        .client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in keys {
        create = create
            .key_schema(built(
                link,
                KeySchemaElement::builder()
                    .attribute_name(name)
                    .key_type(kind)
                    .build(),
            )?)
            .attribute_definitions(built(
                link,
                AttributeDefinition::builder()
                    .attribute_name(name)
                    .attribute_type(ScalarAttributeType::S)
                    .build(),
            )?);
    }
    match create.send().await {
        Err(error) if error.code() != Some("ResourceInUseException") => {
            return Err(of_call(&link.table, error).error);
        }
        _ => {}
    }
    wait(link).await?;
    expire(link).await
}

/// Waits until the table is active, and sees to it that it is curtsy's.
async fn wait(link: &Link) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let describe = || {
            let describe = link.client.describe_table();
            describe.table_name(link.table.name()).send()
        };
        let described = link.call(describe).await?.value;
        let Some(table) = described.and_then(|described| described.table) else {
            return Err(link.damaged());
        };
        if table.table_status() == Some(&TableStatus::Active) {
            return check(link, &table);
        }
        if begun.elapsed() > WITHIN {
            let what = "is still not ready: run curtsy state init again";
            return Err(told(&link.table, StoreErrorKind::Unavailable, what));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn check(link: &Link, table: &TableDescription) -> Result<(), StoreError> {
    let keys = table.key_schema().iter();
    let keys: Vec<_> = keys
        .map(|key| (key.attribute_name(), key.key_type()))
        .collect();
    let strings = table.attribute_definitions().iter();
    let mut strings =
        strings.filter(|attribute| *attribute.attribute_type() == ScalarAttributeType::S);
    if keys != [(KEY, &KeyType::Hash), (PART, &KeyType::Range)] || strings.by_ref().count() < 2 {
        let what = "is there, and is not curtsy's: take another name";
        return Err(told(&link.table, StoreErrorKind::Foreign, what));
    }
    Ok(())
}

/// Has the table delete what has expired.
async fn expire(link: &Link) -> Result<Expiry, StoreError> {
    let describe = || {
        let describe = link.client.describe_time_to_live();
        describe.table_name(link.table.name()).send()
    };
    let described = link.call(describe).await?.value;
    let described = described.and_then(|described| described.time_to_live_description);
    let status = described.and_then(|described| described.time_to_live_status);
    if let Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) = status {
        return Ok(Expiry::Deleted);
    }
    let expires = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(EXPIRES)
        .build();
    let update = link
        .client
        .update_time_to_live()
        .table_name(link.table.name())
        .time_to_live_specification(built(link, expires)?);
    match update.send().await {
        Ok(_) => Ok(Expiry::Deleted),
        Err(error) if error.code() == Some("UnknownOperationException") => Ok(Expiry::Kept),
        Err(error) => Err(of_call(&link.table, error).error),
    }
}

/// What has all that it needs.
fn built<T>(
    link: &Link,
    built: Result<T, aws_sdk_dynamodb::error::BuildError>,
) -> Result<T, StoreError> {
    built.map_err(|error| {
        let what = "cannot be described";
        told(&link.table, StoreErrorKind::Invalid, what).caused_by(error)
    })
}
