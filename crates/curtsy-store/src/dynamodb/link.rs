//! Calls, and how they are repeated.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{ProvideCredentials, SharedHttpClient};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use tokio::time::Instant;

use super::failure::{Next, innermost, of_call, told};
use super::hearing::Hearing;
use crate::dynamodb_table::DynamoDbTable;
use crate::error::{StoreError, StoreErrorKind};
use crate::shared_clock::SharedClock;

/// A connection that takes longer is none; an answer that takes longer is lost.
const TIMEOUTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));
/// So long a call is repeated whose answer was lost.
const REPEATED: Duration = Duration::from_secs(4);
/// The waits between two attempts.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(1));

/// What the environment says of AWS: variables, profiles, and the role of the machine or container.
pub(super) async fn environment() -> SdkConfig {
    let config = aws_config::from_env().http_client(http_client());
    config.load().await
}

/// rustls on ring, as everything else here.
fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

fn no_credentials(table: &DynamoDbTable, error: &CredentialsError) -> StoreError {
    let what = "has no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give \
                this machine a role";
    let cause = std::io::Error::other(innermost(error).to_string());
    told(table, StoreErrorKind::Denied, what).caused_by(cause)
}

/// A table, and the way to it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) table: DynamoDbTable,
    hearing: Hearing,
}

/// What a call came to.
pub(super) struct Answer<T> {
    /// `None` where the call's condition does not hold.
    pub(super) value: Option<T>,
    /// Whether it may have run more than once.
    pub(super) is_repeated: bool,
}

impl Link {
    /// Looks whether this configuration is whole, and asks the table nothing yet.
    pub(super) async fn to(table: &DynamoDbTable, config: &SdkConfig) -> Result<Self, StoreError> {
        if config
            .region()
            .is_none_or(|region| region.as_ref().is_empty())
        {
            let what = "has no region: set AWS_REGION, or region in the AWS profile";
            return Err(told(table, StoreErrorKind::Invalid, what));
        }
        if let Some(provider) = config.credentials_provider() {
            let provided = provider.provide_credentials().await;
            provided.map_err(|error| no_credentials(table, &error))?;
        }
        let hearing = Hearing::default();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(TIMEOUTS.0)
            .read_timeout(TIMEOUTS.1)
            .build();
        let mut builder = aws_sdk_dynamodb::config::Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .interceptor(hearing.clone());
        if config.http_client().is_none() {
            builder = builder.http_client(http_client());
        }
        Ok(Self {
            client: Client::from_conf(builder.build()),
            table: table.clone(),
            hearing,
        })
    }

    /// DynamoDB's clock, after an answer.
    pub(super) fn clock(&self) -> Result<&Arc<SharedClock>, StoreError> {
        self.hearing.clock().ok_or_else(|| {
            let what = "is kept by a server that does not tell the time: its answers have no Date";
            told(&self.table, StoreErrorKind::Foreign, what)
        })
    }

    /// Makes a call, again where its answer is lost: it must be safe to repeat.
    pub(super) async fn call<T, E, F>(&self, send: impl Fn() -> F) -> Result<Answer<T>, StoreError>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
        F: Future<Output = Result<T, SdkError<E>>>,
    {
        let (begun, mut pause) = (Instant::now(), BACKOFF.0);
        let mut is_repeated = false;
        loop {
            let error = match send().await {
                Ok(value) => {
                    let value = Some(value);
                    return Ok(Answer { value, is_repeated });
                }
                Err(error) => error,
            };
            if error.code() == Some("ConditionalCheckFailedException") {
                let value = None;
                return Ok(Answer { value, is_repeated });
            }
            let failed = of_call(&self.table, error);
            if failed.next == Next::Tell || begun.elapsed() >= REPEATED {
                return Err(failed.error);
            }
            is_repeated |= failed.next == Next::MayHaveRun;
            // Workers that were refused together do not come again together.
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
            pause = BACKOFF.1.min(pause * 2);
        }
    }

    /// The error of a call whose answer was lost, and of which cannot be told any more whether it ran.
    pub(super) fn unknown(&self) -> StoreError {
        let what = "lost an answer, and others have written since";
        told(&self.table, StoreErrorKind::Unavailable, what)
    }

    pub(super) fn damaged(&self) -> StoreError {
        let what = "holds an item that is not whole";
        told(&self.table, StoreErrorKind::Damaged, what)
    }
}
