//! The answer to one request, as the script words it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::arrival::Verdict;
use crate::dialect::cell::{http_date, round_up};
use crate::dialect::{quota_headers, tightest};
use crate::referee::Ruling;
use crate::script::{Coding, Fault, Page, RetryAfter, Script};

/// What is to be sent.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Content,
    pub(crate) coding: Option<Coding>,
    pub(crate) fault: Option<Fault>,
    pub(crate) hold: Hold,
}

/// The body before coding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(Bytes),
    /// So many bytes of the pattern.
    Sized(u64),
}

/// How long the client was told to stay away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    None,
    /// From the moment the answer leaves.
    For(Duration),
    /// Until this instant.
    Until(Duration),
}

/// The page that answers, and what a `*` in its path stood for.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) page: Page,
    pub(crate) rest: String,
}

/// Words the answer at the instant `now`, of which `epoch` is the true Unix time.
pub(crate) fn word(
    script: &Script,
    ruling: Option<&Ruling>,
    chosen: Chosen,
    epoch: Duration,
    now: Duration,
) -> Reply {
    let server_time = skewed(epoch, script.clock_skew_s);
    let mut reply = match ruling.map(|ruling| (ruling.verdict, ruling)) {
        Some((Verdict::Refused, ruling)) => {
            let mut reply = plain(script.refuse.status, script.refuse.body.clone());
            append(&mut reply.headers, &script.refuse.headers);
            reply.tell(&script.refuse.retry_after, ruling.wait, server_time, now);
            reply
        }
        Some((Verdict::Outage, ruling)) => {
            let outage = ruling.outage.as_ref();
            let mut reply = plain(
                outage.map_or(503, |outage| outage.status),
                "down\n".to_owned(),
            );
            if let Some(outage) = outage {
                reply.fault = outage.reset.then_some(Fault::ResetBeforeHead);
                reply.tell(&outage.retry_after, ruling.wait, server_time, now);
            }
            reply
        }
        _ => {
            let mut reply = page(chosen);
            if let (Some(ruling), Some(retry_after)) = (ruling, &script.retry_after_on_ok)
                && let Some(reading) = tightest(&ruling.readings)
            {
                reply.tell(retry_after, reading.full, server_time, now);
                reply.hold = Hold::None;
            }
            reply
        }
    };
    if let Some(ruling) = ruling {
        let told = quota_headers(
            script.dialect,
            script.rounding,
            script.reset_tells,
            &ruling.readings,
            server_time,
        );
        for (name, text) in told {
            reply
                .headers
                .append(HeaderName::from_static(name), value(&text));
        }
    }
    if script.date {
        let date = value(&http_date(server_time.as_secs()));
        reply.headers.entry(DATE).or_insert(date);
    }
    reply
}

impl Reply {
    fn tell(
        &mut self,
        retry_after: &RetryAfter,
        wait: Duration,
        server_time: Duration,
        now: Duration,
    ) {
        let (text, hold) = match retry_after {
            RetryAfter::None => return,
            RetryAfter::Seconds => {
                let seconds = round_up(wait);
                (seconds.to_string(), Hold::For(Duration::from_secs(seconds)))
            }
            RetryAfter::Floor => {
                let seconds = wait.as_secs();
                (seconds.to_string(), Hold::For(Duration::from_secs(seconds)))
            }
            RetryAfter::Date => {
                let date = round_up(server_time + wait);
                let ahead = Duration::from_secs(date).saturating_sub(server_time);
                (http_date(date), Hold::Until(now + ahead))
            }
            RetryAfter::Fixed(seconds) => {
                let hold = Duration::try_from_secs_f64(*seconds).map_or(Hold::None, Hold::For);
                (seconds.to_string(), hold)
            }
            RetryAfter::Text(text) => (text.clone(), Hold::None),
        };
        self.headers.insert(RETRY_AFTER, value(&text));
        self.hold = hold;
    }
}

fn page(Chosen { page, rest }: Chosen) -> Reply {
    let status = page
        .status
        .unwrap_or(if page.location.is_some() { 302 } else { 200 });
    let mut reply = plain(status, page.body.unwrap_or_else(|| "ok\n".to_owned()));
    if let Some(bytes) = page.body_bytes {
        reply.content = Content::Sized(bytes);
    }
    if matches!(status, 204 | 304) {
        reply.content = Content::Text(Bytes::new());
    }
    // A page that names its own type replaces the default; other fields are added.
    if page
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    {
        reply.headers.remove(CONTENT_TYPE);
    }
    append(&mut reply.headers, &page.headers);
    reply.hold = held_by(status, &reply.headers);
    if let Some(location) = page.location {
        let location = location.replacen('*', &rest, 1);
        reply.headers.insert(LOCATION, value(&location));
    }
    if let Some(coding) = page.coding {
        reply.headers.insert(CONTENT_ENCODING, value(label(coding)));
        reply.coding = Some(coding);
    }
    if let Some(Fault::HugeHeader { bytes }) = page.fault {
        let huge = HeaderValue::from_maybe_shared(Bytes::from(vec![b'h'; bytes]));
        if let Ok(huge) = huge {
            reply.headers.insert("x-huge", huge);
        }
    }
    reply.fault = page.fault;
    reply
}

/// The hold of a page whose own fields tell a wait in whole seconds. On a success other than 202 it is
/// no instruction.
fn held_by(status: u16, headers: &HeaderMap) -> Hold {
    if (200..300).contains(&status) && status != 202 {
        return Hold::None;
    }
    headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map_or(Hold::None, |seconds| {
            Hold::For(Duration::from_secs(seconds))
        })
}

fn plain(status: u16, text: String) -> Reply {
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    Reply {
        // The script was checked: the status is one.
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        headers,
        content: Content::Text(Bytes::from(text)),
        coding: None,
        fault: None,
        hold: Hold::None,
    }
}

fn append(headers: &mut HeaderMap, fields: &[(String, String)]) {
    for (name, text) in fields {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            headers.append(name, value(text));
        }
    }
}

/// What cannot stand in a header is left out; the check of the script has refused it before.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_bytes(text.as_bytes()).unwrap_or(HeaderValue::from_static(""))
}

fn label(coding: Coding) -> &'static str {
    match coding {
        Coding::Gzip => "gzip",
        Coding::Deflate | Coding::DeflateRaw => "deflate",
        Coding::Br => "br",
        Coding::Zstd => "zstd",
    }
}

fn skewed(epoch: Duration, skew_s: f64) -> Duration {
    let skew = Duration::from_secs_f64(skew_s.abs());
    if skew_s < 0.0 {
        epoch.saturating_sub(skew)
    } else {
        epoch + skew
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Outage;

    /// Half a second after a whole one.
    const EPOCH: Duration = Duration::from_millis(784_111_777_500);
    const NOW: Duration = Duration::from_millis(60_000);

    fn ruling(verdict: Verdict, wait_ms: u64, outage: Option<Outage>) -> Ruling {
        Ruling::hand_made(verdict, Duration::from_millis(wait_ms), outage)
    }

    fn word_for(script: &Script, ruling: &Ruling) -> Reply {
        let chosen = Chosen {
            page: script.page.clone(),
            rest: String::new(),
        };
        word(script, Some(ruling), chosen, EPOCH, NOW)
    }

    fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
        reply
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    }

    #[test]
    fn each_form_of_retry_after_puts_its_own_hold_on_record() {
        let s = Duration::from_secs;
        let ms = Duration::from_millis;
        for (retry_after, expected, hold) in [
            (RetryAfter::None, None, Hold::None),
            (RetryAfter::Seconds, Some("2"), Hold::For(s(2))),
            (RetryAfter::Floor, Some("1"), Hold::For(s(1))),
            // 08:49:37.5 and 1.2 s is 38.7: the date says 39, which is 1.5 s ahead.
            (
                RetryAfter::Date,
                Some("Sun, 06 Nov 1994 08:49:39 GMT"),
                Hold::Until(NOW + ms(1500)),
            ),
            (RetryAfter::Fixed(30.0), Some("30"), Hold::For(s(30))),
            (RetryAfter::Fixed(1.5), Some("1.5"), Hold::For(ms(1500))),
            (RetryAfter::Fixed(-1.0), Some("-1"), Hold::None),
            (RetryAfter::Text("soon".into()), Some("soon"), Hold::None),
        ] {
            let mut script = Script::default();
            script.refuse.retry_after = retry_after.clone();
            let reply = word_for(&script, &ruling(Verdict::Refused, 1200, None));
            assert_eq!(reply.status, 429);
            assert_eq!(header(&reply, "retry-after"), expected, "{retry_after:?}");
            assert_eq!(reply.hold, hold, "{retry_after:?}");
        }
    }

    #[test]
    fn a_skewed_clock_moves_the_dates_and_not_the_hold() {
        let mut script = Script {
            clock_skew_s: -3600.0,
            ..Script::default()
        };
        script.refuse.retry_after = RetryAfter::Date;
        let reply = word_for(&script, &ruling(Verdict::Refused, 1200, None));
        assert_eq!(
            header(&reply, "date"),
            Some("Sun, 06 Nov 1994 07:49:37 GMT")
        );
        assert_eq!(
            header(&reply, "retry-after"),
            Some("Sun, 06 Nov 1994 07:49:39 GMT")
        );
        assert_eq!(reply.hold, Hold::Until(NOW + Duration::from_millis(1500)));
    }

    #[test]
    fn an_outage_answers_or_resets() {
        let mut outage = Outage {
            at: Duration::ZERO,
            lasts: Duration::from_secs(6),
            status: 500,
            reset: false,
            retry_after: RetryAfter::Seconds,
        };
        let script = Script::default();
        let reply = word_for(
            &script,
            &ruling(Verdict::Outage, 5500, Some(outage.clone())),
        );
        assert_eq!(reply.status, 500);
        assert_eq!(header(&reply, "retry-after"), Some("6"));
        assert_eq!(reply.fault, None);
        outage.reset = true;
        let reply = word_for(&script, &ruling(Verdict::Outage, 5500, Some(outage)));
        assert_eq!(reply.fault, Some(Fault::ResetBeforeHead));
    }

    #[test]
    fn a_wait_among_the_fields_of_a_page_is_a_hold_unless_all_is_well() {
        let five = Hold::For(Duration::from_secs(5));
        for (status, text, hold) in [
            (403, "5", five),
            (503, "5", five),
            (302, "5", five),
            (202, "5", five),
            (200, "5", Hold::None),
            (503, "soon", Hold::None),
            (503, "99999999999999999999", Hold::None),
        ] {
            let page = Page {
                headers: vec![("Retry-After".to_owned(), text.to_owned())],
                ..Page::new(status, "")
            };
            let rest = String::new();
            let reply = word(&Script::default(), None, Chosen { page, rest }, EPOCH, NOW);
            assert_eq!(header(&reply, "retry-after"), Some(text));
            assert_eq!(reply.hold, hold, "{status} {text}");
        }
    }

    #[test]
    fn a_redirect_carries_on_what_the_star_stood_for() {
        let chosen = Chosen {
            page: Page::redirect("/new/*"),
            rest: "a?b=c".to_owned(),
        };
        let reply = word(&Script::default(), None, chosen, EPOCH, NOW);
        assert_eq!(reply.status, 302);
        assert_eq!(header(&reply, "location"), Some("/new/a?b=c"));
    }
}
