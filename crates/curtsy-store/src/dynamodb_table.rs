//! [`DynamoDbTable`]: which table of DynamoDB holds the state.

use std::fmt;
use std::str::FromStr;

/// `dynamodb://TABLE`. The region, the credentials and another endpoint than AWS's are the environment's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamoDbTable(String);

impl DynamoDbTable {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl FromStr for DynamoDbTable {
    type Err = String;

    /// # Errors
    /// It is no such URL, or no name for a table: 3 to 255 letters, digits, `_`, `-` and `.`.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write dynamodb://TABLE";
        let Some(name) = text.strip_prefix("dynamodb://") else {
            return Err(format!("this is no table of DynamoDB; {FORM}"));
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !(3..=255).contains(&name.len()) || !name.chars().all(is_name) {
            return Err(format!(
                "a table's name has 3 to 255 letters, digits, _, - and .; {FORM}"
            ));
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for DynamoDbTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dynamodb://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_the_name_of_a_table() {
        for text in ["dynamodb://abc", "dynamodb://Crawl_state-2.eu"] {
            let table: DynamoDbTable = text.parse().unwrap();
            assert_eq!(table.to_string(), text);
            assert_eq!(format!("dynamodb://{}", table.name()), text);
        }
    }

    #[test]
    fn what_is_no_name_of_a_table_is_refused_without_being_repeated() {
        let long = format!("dynamodb://{}", "t".repeat(256));
        for text in [
            "",
            "dynamodb:",
            "dynamodb:table",
            "dynamodb://",
            "dynamodb://ab",
            "dynamodb://secret@table",
            "dynamodb://table/secret",
            "redis://secret",
            &long,
        ] {
            let error = text.parse::<DynamoDbTable>().unwrap_err();
            assert!(error.contains("write dynamodb://TABLE"), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
