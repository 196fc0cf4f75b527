//! [`HostStore`] in a table of DynamoDB.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use curtsy_core::Timestamp;
use tokio::time::Instant;

use super::item::{self, Content, HEAD, Head, Item, KEY, PART, PIECE, VERSION};
use super::link::{self, Answer, Link};
use super::table::{self, Expiry};
use crate::dynamodb_table::DynamoDbTable;
use crate::error::StoreError;
use crate::host_store::{HostStore, Swap, Version, Versioned, check_key, check_value};
use crate::shared_clock::SharedClock;

/// How long a value is kept after its last change: 400 days. The longest wait that is taken from a server
/// is 365 days, so that a value never ends before a hold in it.
pub const KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The clock is asked in a row until its bounds are as close as this, or a second has surely begun.
const NARROW: Duration = Duration::from_millis(20);
const LISTENED: Duration = Duration::from_millis(1100);

/// So often a value is looked for whose pieces are replaced meanwhile.
const LOOKS: usize = 8;

/// A [`HostStore`] in a table of DynamoDB that workers on many machines share; the module says what its clock
/// is worth.
#[derive(Debug)]
pub struct DynamoDbStore {
    link: Link,
    clock: Arc<SharedClock>,
}

impl DynamoDbStore {
    /// Finds the table. Region, credentials and endpoint are the environment's, as of AWS's own tools:
    /// variables as `AWS_REGION`, `AWS_PROFILE` and `AWS_ENDPOINT_URL`, profiles, and the roles of machines and
    /// containers.
    ///
    /// # Errors
    /// It cannot be reached (`Unavailable`), is not there (`Missing`), refuses the credentials, or there are
    /// none (`Denied`), has other keys or is none at all (`Foreign`), or there is no region (`Invalid`).
    pub async fn open(table: &DynamoDbTable) -> Result<Self, StoreError> {
        Self::open_with(table, &link::environment().await).await
    }

    /// Finds the table by a configuration of the caller's; its time-outs and retries are not taken.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(table: &DynamoDbTable, config: &SdkConfig) -> Result<Self, StoreError> {
        let link = Link::to(table, config).await?;
        let begun = Instant::now();
        let clock = loop {
            read(&link, item::head_keys("curtsy")).await?;
            let clock = link.clock()?;
            let width = clock.stamp().since(clock.now());
            if width < NARROW || begun.elapsed() > LISTENED {
                break Arc::clone(clock);
            }
        };
        Ok(Self { link, clock })
    }

    /// Makes the table where there is none, billed by what is used of it, and waits until it can be used.
    ///
    /// # Errors
    /// As [`open`](Self::open); a table of this name with other keys is `Foreign`, and left as it is.
    pub async fn create_table(table: &DynamoDbTable) -> Result<Expiry, StoreError> {
        Self::create_table_with(table, &link::environment().await).await
    }

    /// Makes the table by a configuration of the caller's.
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table).
    pub async fn create_table_with(
        table: &DynamoDbTable,
        config: &SdkConfig,
    ) -> Result<Expiry, StoreError> {
        table::create(&Link::to(table, config).await?).await
    }

    /// The value in the pieces of this version; `None` where one is gone.
    async fn assemble(
        &self,
        key: &str,
        version: Version,
        pieces: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut value = Vec::new();
        for number in 0..pieces {
            let item = read(&self.link, item::piece_keys(key, version, number)).await?;
            match item.as_ref().and_then(item::value) {
                Some(piece) => value.extend(piece),
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// Lays down what does not fit into one item.
    async fn lay_down(
        &self,
        key: &str,
        version: Version,
        value: Vec<u8>,
    ) -> Result<Content, StoreError> {
        if value.len() <= PIECE {
            return Ok(Content::Here(value));
        }
        let pieces = value.chunks(PIECE);
        let content = Content::Beside(pieces.len());
        for (number, piece) in pieces.enumerate() {
            let item = item::piece(key, version, number, piece, self.expires());
            let put = || self.put(item.clone()).send();
            self.link.call(put).await?;
        }
        Ok(content)
    }

    /// Removes the pieces of a value that is not there any more, or never was. What cannot be removed expires.
    async fn clear_away(&self, key: &str, head: Option<Head>) {
        let Some(Head {
            version,
            content: Content::Beside(pieces),
        }) = head
        else {
            return;
        };
        for number in 0..pieces {
            let keys = item::piece_keys(key, version, number);
            let delete = || self.delete(keys.clone()).send();
            if self.link.call(delete).await.is_err() {
                return;
            }
        }
    }

    fn put(
        &self,
        item: Item,
    ) -> aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder {
        let put = self.link.client.put_item();
        put.table_name(self.link.table.name()).set_item(Some(item))
    }

    fn delete(
        &self,
        keys: Item,
    ) -> aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder {
        let delete = self.link.client.delete_item();
        delete
            .table_name(self.link.table.name())
            .set_key(Some(keys))
    }

    fn expires(&self) -> Timestamp {
        self.clock.now().after(KEPT)
    }
}

#[async_trait]
impl HostStore for DynamoDbStore {
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        for _ in 0..LOOKS {
            let Some(item) = read(&self.link, item::head_keys(key)).await? else {
                return Ok(None);
            };
            let head = Head::of(&item).ok_or_else(|| self.link.damaged())?;
            let version = head.version;
            let value = match head.content {
                Content::Here(value) => Some(value),
                Content::Beside(pieces) => self.assemble(key, version, pieces).await?,
            };
            if let Some(value) = value {
                return Ok(Some(Versioned { version, value }));
            }
        }
        Err(self.link.damaged())
    }

    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError> {
        check_key(key)?;
        check_value(&value)?;
        // Of two in 2⁶⁴ nobody will ever see the same for one key.
        let version = Version::from_number(fastrand::u64(1..));
        let content = self.lay_down(key, version, value).await?;
        let pieces = match content {
            Content::Here(_) => 0,
            Content::Beside(pieces) => pieces,
        };
        let item = Head { version, content }.into_item(key, self.expires());
        let (condition, names, values) = condition(expected);
        let put = || {
            self.put(item.clone())
                .condition_expression(condition)
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(values.clone())
                .return_values(ReturnValue::AllOld)
                .send()
        };
        let Answer { value, is_repeated } = self.link.call(put).await?;
        if let Some(stored) = value {
            let replaced = stored.attributes().and_then(Head::of);
            self.clear_away(key, replaced).await;
            return Ok(Swap::Stored(version));
        }
        let there = self.load(key).await?;
        match there {
            // It has run before, and its answer was lost.
            Some(there) if there.version == version => return Ok(Swap::Stored(version)),
            // It may have run the first time, and been overwritten.
            _ if is_repeated => return Err(self.link.unknown()),
            _ => {}
        }
        let content = Content::Beside(pieces);
        self.clear_away(key, Some(Head { version, content })).await;
        Ok(Swap::Conflict(there))
    }

    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError> {
        check_key(key)?;
        let (condition, names, values) = condition(expected);
        let delete = || {
            self.delete(item::head_keys(key))
                .condition_expression(condition)
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(values.clone())
                .return_values(ReturnValue::AllOld)
                .send()
        };
        let Answer { value, is_repeated } = self.link.call(delete).await?;
        if let Some(removed) = value {
            let removed = removed.attributes().and_then(Head::of);
            self.clear_away(key, removed).await;
            return Ok(Swap::Stored(Version::ABSENT));
        }
        if is_repeated {
            return Err(self.link.unknown());
        }
        Ok(Swap::Conflict(self.load(key).await?))
    }

    /// It goes through the whole table.
    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut keys = Vec::new();
        let mut from = None;
        loop {
            let scan = || {
                let head = AttributeValue::S(HEAD.to_owned());
                let scan = self.link.client.scan();
                let scan = scan
                    .table_name(self.link.table.name())
                    .consistent_read(true)
                    .set_exclusive_start_key(from.clone())
                    .projection_expression("#key")
                    .expression_attribute_names("#key", KEY)
                    .expression_attribute_names("#part", PART)
                    .expression_attribute_values(":head", head);
                if prefix.is_empty() {
                    return scan.filter_expression("#part = :head").send();
                }
                scan.filter_expression("#part = :head AND begins_with(#key, :prefix)")
                    .expression_attribute_values(":prefix", AttributeValue::S(prefix.to_owned()))
                    .send()
            };
            let Some(page) = self.link.call(scan).await?.value else {
                return Err(self.link.damaged());
            };
            let found = page
                .items()
                .iter()
                .filter_map(|item| item.get(KEY)?.as_s().ok());
            keys.extend(found.cloned());
            from = page.last_evaluated_key;
            if from.is_none() {
                break;
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn clock(&self) -> Option<Arc<SharedClock>> {
        Some(Arc::clone(&self.clock))
    }
}

/// The item with these keys.
async fn read(link: &Link, keys: Item) -> Result<Option<Item>, StoreError> {
    let get = || {
        link.client
            .get_item()
            .table_name(link.table.name())
            .set_key(Some(keys.clone()))
            .consistent_read(true)
            .send()
    };
    let answer = link.call(get).await?;
    Ok(answer.value.and_then(|got| got.item))
}

type Names = std::collections::HashMap<String, String>;

/// That a value has this version: the expression, and what its words stand for.
fn condition(expected: Version) -> (&'static str, Names, Option<Item>) {
    let names = Names::from([("#version".to_owned(), VERSION.to_owned())]);
    match expected {
        Version::ABSENT => ("attribute_not_exists(#version)", names, None),
        expected => {
            let values = Item::from([(":expected".to_owned(), item::version(expected))]);
            ("#version = :expected", names, Some(values))
        }
    }
}
