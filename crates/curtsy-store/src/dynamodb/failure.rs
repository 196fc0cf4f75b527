//! From what DynamoDB answers to the kinds that callers act on, each with a way out.

use std::error::Error;
use std::io;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::dynamodb_table::DynamoDbTable;
use crate::error::{StoreError, StoreErrorKind};

/// A call that came to nothing.
pub(super) struct Failed {
    pub(super) error: StoreError,
    pub(super) next: Next,
}

/// What may be done after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: it would fail again.
    Tell,
    /// Nothing was done, and it may be asked again.
    AskAgain,
    /// It may have been done, and it may be asked again.
    MayHaveRun,
}

/// What a failed call means.
pub(super) fn of_call<E>(table: &DynamoDbTable, error: SdkError<E>) -> Failed
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    use StoreErrorKind::{Foreign, Invalid, Unavailable};
    let status = error.raw_response().map_or(0, |raw| raw.status().as_u16());
    let (kind, next, what) = match &error {
        SdkError::ServiceError(_) => meaning(error.code().unwrap_or_default(), status),
        SdkError::ConstructionFailure(_) => (Invalid, Next::Tell, "cannot be asked"),
        SdkError::DispatchFailure(_) if is_refusal(&error) => (Unavailable, Next::Tell, NOBODY),
        SdkError::ResponseError(_) if status < 500 => (Foreign, Next::MayHaveRun, OTHER),
        _ => (Unavailable, Next::MayHaveRun, "is not available"),
    };
    let told = told(table, kind, what);
    let error = match cause(&error) {
        Some(cause) => told.caused_by(cause),
        None => told,
    };
    Failed { error, next }
}

/// The line for a table in this condition.
pub(super) fn told(table: &DynamoDbTable, kind: StoreErrorKind, what: &str) -> StoreError {
    StoreError::new(kind, format!("{table} {what}"))
}

const NOBODY: &str = "is not available: is AWS_ENDPOINT_URL right?";
const OTHER: &str = "is asked of a server that is no DynamoDB: is AWS_ENDPOINT_URL right?";

fn meaning(code: &str, status: u16) -> (StoreErrorKind, Next, &'static str) {
    use StoreErrorKind::{Denied, Foreign, Missing, Unavailable};
    match code {
        "ResourceNotFoundException" => (
            Missing,
            Next::Tell,
            "is not there: make it with curtsy state init, or set AWS_REGION to where it is",
        ),
        "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "ExpiredTokenException"
        | "InvalidClientTokenId" => (
            Denied,
            Next::Tell,
            "refuses the credentials: look at AWS_ACCESS_KEY_ID, AWS_PROFILE and this machine's clock",
        ),
        "AccessDeniedException" => (
            Denied,
            Next::Tell,
            "lets these credentials not do what is needed: allow them dynamodb:GetItem, PutItem, DeleteItem \
             and Scan on it, and for state init CreateTable, DescribeTable, DescribeTimeToLive and UpdateTimeToLive",
        ),
        "ValidationException" => (
            Foreign,
            Next::Tell,
            "is no table of curtsy's: take the name of one that curtsy state init has made",
        ),
        "ProvisionedThroughputExceededException"
        | "RequestLimitExceeded"
        | "ThrottlingException" => (Unavailable, Next::AskAgain, "is asked too much at once"),
        _ if status < 500 => (Foreign, Next::Tell, OTHER),
        _ => (Unavailable, Next::MayHaveRun, "is not available"),
    }
}

/// Whether nobody listens there.
fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    let mut source = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::ConnectionRefused;
        }
        source = error.source();
    }
    false
}

/// What the server or the network said of it, without what the SDK says around it: that may hold what a
/// stranger answered.
fn cause<E>(error: &SdkError<E>) -> Option<io::Error>
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let text = match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ if error.raw_response().is_some() => return None,
        _ => innermost(error).to_string(),
    };
    Some(io::Error::other(text))
}

/// The cause of all others.
pub(super) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}
