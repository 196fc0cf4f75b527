//! Where state and queue are kept: `memory:`, `sqlite:`, `sqlite:PATH`, `redis://…`,
//! `dynamodb://TABLE`.

use std::path::PathBuf;

use curtsy::store::{DynamoDbTable, RedisUrl};
use serde_json::{Value as Json, json};

use super::Value;
use crate::dirs;

/// Where the scopes' state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateUrl {
    /// In this process, and lost with it.
    Memory,
    /// In an SQLite file, which other processes may share.
    Sqlite(PathBuf),
    /// In a Redis, which other machines may share.
    Redis(RedisUrl),
    /// In a table of DynamoDB, which other machines may share.
    DynamoDb(DynamoDbTable),
}

impl StateUrl {
    /// `curtsy/state.sqlite` in the user's state directory: what `sqlite:` alone means.
    ///
    /// # Errors
    /// The user has no such directory.
    pub(crate) fn of_user() -> Result<Self, String> {
        let dir =
            dirs::state().ok_or("there is no home directory; write sqlite:PATH".to_owned())?;
        Ok(Self::Sqlite(dir.join("curtsy").join("state.sqlite")))
    }
}

impl Value for StateUrl {
    fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", "")) => Self::of_user(),
            Some(("sqlite", path)) => Ok(Self::Sqlite(PathBuf::from(path))),
            Some(("redis" | "rediss" | "redis+unix", _)) => redis(text).map(Self::Redis),
            Some(("dynamodb", _)) => dynamodb(text).map(Self::DynamoDb),
            _ => Err(format!(
                "{text:?} is no state URL; write memory:, sqlite:PATH, redis://HOST or dynamodb://TABLE"
            )),
        }
    }

    fn show(&self) -> Json {
        match self {
            Self::Memory => json!("memory:"),
            Self::Sqlite(path) => json!(format!("sqlite:{}", path.display())),
            Self::Redis(url) => json!(url.to_string()),
            Self::DynamoDb(table) => json!(table.to_string()),
        }
    }
}

/// Where the job's URLs wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueueUrl {
    /// In an SQLite file in the job's directory.
    Sqlite,
    /// In a Redis, where workers of other directories and machines work on them too.
    Redis(RedisUrl),
}

impl Value for QueueUrl {
    fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", "")) => Ok(Self::Sqlite),
            Some(("sqlite", _)) => Err(
                "the queue lies in the job's directory; write sqlite: without a path".to_owned(),
            ),
            Some(("redis" | "rediss" | "redis+unix", _)) => redis(text).map(Self::Redis),
            _ => Err(format!(
                "{text:?} is no queue URL; write sqlite: or redis://HOST"
            )),
        }
    }

    fn show(&self) -> Json {
        match self {
            Self::Sqlite => json!("sqlite:"),
            Self::Redis(url) => json!(url.to_string()),
        }
    }
}

fn redis(text: &str) -> Result<RedisUrl, String> {
    if cfg!(feature = "redis") {
        text.parse()
    } else {
        Err("this curtsy was built without Redis".to_owned())
    }
}

fn dynamodb(text: &str) -> Result<DynamoDbTable, String> {
    let table = text.parse()?;
    if cfg!(feature = "dynamodb") {
        Ok(table)
    } else {
        Err("this curtsy was built without DynamoDB; build one with --features dynamodb".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_state_url_is_memory_or_a_file() {
        assert_eq!(read("memory:"), Ok(StateUrl::Memory));
        for path in ["state.db", "/var/lib/x.sqlite", "C:\\x"] {
            let url: StateUrl = read(&format!("sqlite:{path}")).unwrap();
            assert_eq!(url, StateUrl::Sqlite(PathBuf::from(path)));
            assert_eq!(read(url.show().as_str().unwrap()), Ok(url));
        }
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_redis_is_shown_without_its_password() {
        let url: QueueUrl = read("rediss://:secret@h").unwrap();
        assert_eq!(url.show(), "rediss://h");
        let url: StateUrl = read("redis://ann:secret@h:7000/2").unwrap();
        assert_eq!(url.show(), "redis://ann@h:7000/2");
    }

    #[test]
    fn what_cannot_hold_state_is_refused_without_its_password() {
        for text in [
            "",
            "memory",
            "memory:x",
            "state.db",
            "redis://u:secret@h/x",
            "rediss://:secret@",
            "dynamodb://secret@",
        ] {
            let error = read::<StateUrl>(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_table_of_dynamodb_is_a_state_url_where_that_is_built_in() {
        let read = read::<StateUrl>("dynamodb://table");
        if cfg!(feature = "dynamodb") {
            assert_eq!(read.unwrap().show(), "dynamodb://table");
        } else {
            assert!(read.unwrap_err().contains("--features dynamodb"));
        }
    }

    #[test]
    fn the_queue_lies_in_the_jobs_directory_or_in_a_redis() {
        assert_eq!(read("sqlite:"), Ok(QueueUrl::Sqlite));
        for text in ["sqlite:x", "redis://", "memory:", ""] {
            assert!(read::<QueueUrl>(text).is_err(), "{text}");
        }
    }
}
