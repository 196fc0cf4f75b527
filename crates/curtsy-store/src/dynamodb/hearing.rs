//! What time it is at DynamoDB, by the date of each answer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use curtsy_core::Timestamp;
use tokio::time::Instant;

use crate::shared_clock::{Reading, SharedClock};

/// An HTTP-date is cut down to whole seconds.
const RESOLUTION: Duration = Duration::from_secs(1);

/// Reads the clock from each answer. There is none before the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Hearing(Arc<OnceLock<Arc<SharedClock>>>);

/// When an attempt was sent.
#[derive(Debug)]
struct Asked(Instant);

impl Storable for Asked {
    type Storer = StoreReplace<Self>;
}

impl Hearing {
    pub(super) fn clock(&self) -> Option<&Arc<SharedClock>> {
        self.0.get()
    }

    fn read(&self, reading: Reading) {
        self.0
            .get_or_init(|| Arc::new(SharedClock::new(reading)))
            .read(reading);
    }
}

type Heard = Result<(), Box<dyn std::error::Error + Send + Sync>>;

impl Intercept for Hearing {
    fn name(&self) -> &'static str {
        "Hearing"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Heard {
        config.interceptor_state().store_put(Asked(Instant::now()));
        Ok(())
    }

    fn read_after_transmit(
        &self,
        answer: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Heard {
        let answered = Instant::now();
        let time = answer.response().headers().get("date").and_then(timestamp);
        if let (Some(time), Some(Asked(asked))) = (time, config.load::<Asked>()) {
            self.read(Reading {
                time,
                resolution: RESOLUTION,
                asked: *asked,
                answered,
            });
        }
        Ok(())
    }
}

fn timestamp(date: &str) -> Option<Timestamp> {
    let date = httpdate::parse_http_date(date).ok()?;
    let since_epoch = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_secs(since_epoch.as_secs()))
}
