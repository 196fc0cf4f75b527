//! What happens during a run, in words, by verbosity (rule T5).

use std::time::Duration;

use curtsy::core::audit::redacted;
use curtsy::core::{AlertKind, AlertState, Scope, Timestamp};
use curtsy::{Notice, Notices};

use crate::failure::chain;

/// Tells a notice to `say`, one line each, as far as `verbosity` goes: 0 nothing, 1 warnings, 2 what happens,
/// 3 why.
pub(crate) fn tell(notice: &Notice<'_>, verbosity: u8, say: impl Fn(&str)) {
    for (level, line) in lines(notice) {
        if level <= verbosity {
            say(&line);
        }
    }
}

/// Who tells all notices like this.
pub(crate) fn notices(verbosity: u8, say: impl Fn(&str) + Send + Sync + 'static) -> Notices {
    Notices::to(move |notice| tell(notice, verbosity, &say))
}

/// The scope that a notice is about.
pub(crate) fn about(notice: &Notice<'_>) -> Option<String> {
    let scope = match notice {
        Notice::Throttled { scope, .. }
        | Notice::Failed { scope, .. }
        | Notice::Suppressed { scope }
        | Notice::BreakerOpened { scope, .. }
        | Notice::Alert { scope, .. }
        | Notice::Lifted { scope } => *scope,
        Notice::Paused { scope, .. } => (*scope)?,
        Notice::Disallowed { url, .. } | Notice::Deferred { url, .. } => {
            return Scope::of(url).map(|scope| scope.to_string());
        }
        _ => return None,
    };
    Some(scope.to_string())
}

/// The lines of a notice, each with the verbosity from which on it is said.
pub(crate) fn lines(notice: &Notice<'_>) -> Vec<(u8, String)> {
    match notice {
        Notice::Throttled {
            scope,
            status,
            told,
            until,
            headers,
        } => {
            let until = clock(*until);
            match told {
                Some((wait, source)) => {
                    vec![(
                        1,
                        format!(
                            "{scope} answered {status}: nothing departs for {} (from {source}), until {until}",
                            short(*wait)
                        ),
                    )]
                }
                None => {
                    let mut lines = vec![(
                        1,
                        format!(
                            "{scope} answered {status} and named no wait: backing off until {until}"
                        ),
                    )];
                    // Without a usable header, all of them help to find out why.
                    lines.extend(headers.iter().map(|(name, value)| {
                        (2, format!("  {name}: {}", printable(value.as_bytes())))
                    }));
                    lines
                }
            }
        }
        Notice::Failed {
            scope,
            error,
            until,
        } => {
            let next = until
                .map(|until| format!("; next try not before {}", clock(until)))
                .unwrap_or_default();
            vec![(1, format!("{scope}: {}{next}", chain(*error)))]
        }
        Notice::Suppressed { scope } => vec![(
            1,
            format!(
                "{scope} keeps answering 403: it is left alone (curtsy state lift {} ends that)",
                shell_word(scope.as_str())
            ),
        )],
        Notice::BreakerOpened { scope, until } => vec![(
            1,
            format!(
                "{scope} fails too often: nothing departs until {}",
                clock(*until)
            ),
        )],
        Notice::Disallowed {
            url,
            rule: Some((rule, line)),
        } => vec![(
            2,
            format!("robots.txt line {line} disallows {}: {rule}", redacted(url)),
        )],
        Notice::Disallowed { url, rule: None } => {
            vec![(2, format!("robots.txt disallows {}", redacted(url)))]
        }
        Notice::Deferred { url, bound } => {
            vec![(
                2,
                format!(
                    "{} is deferred until {}: {}",
                    redacted(url),
                    clock(bound.not_before),
                    bound.reason.sentence()
                ),
            )]
        }
        Notice::Alert { scope, alert } => {
            let sentence = alert.sentence();
            let line = match alert.state {
                AlertState::Raised => {
                    format!("alert: {scope}: {sentence}, since {}", clock(alert.since))
                }
                AlertState::Cleared => format!("alert over: {scope}: {sentence}"),
            };
            // A breaker that opens and a suppression have a line of their own already.
            let is_told = matches!(
                alert.kind,
                AlertKind::BreakerOpen | AlertKind::ScopeSuppressed
            ) && alert.state == AlertState::Raised;
            vec![(if is_told { 3 } else { 1 }, line)]
        }
        Notice::AlertLost {
            channel,
            error: Some(error),
        } => vec![(
            1,
            format!("an alert was not told by {channel}: {}", chain(*error)),
        )],
        Notice::AlertLost { channel, .. } => vec![(
            1,
            format!("an alert was not told by {channel}: too many wait already"),
        )],
        Notice::Paused { scope, is_paused } => {
            let whom = scope.map_or("everything".to_owned(), ToString::to_string);
            let line = if *is_paused {
                format!("{whom} is paused: nothing departs until it is resumed")
            } else {
                format!("{whom} goes on")
            };
            vec![(1, line)]
        }
        Notice::Lifted { scope } => vec![(1, format!("{scope} may be asked again"))],
        Notice::StoreLost { error } => vec![(
            1,
            format!(
                "waiting for the state store, nothing departs meanwhile: {}",
                chain(*error)
            ),
        )],
        Notice::StoreBack => vec![(1, "the state store is back".to_owned())],
        other => vec![(3, format!("{other:?}"))],
    }
}

/// An instant as people read it: UTC to the second.
pub(crate) fn clock(at: Timestamp) -> String {
    let text = at.to_rfc3339();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", seconds.replace('T', " ")),
        None => text,
    }
}

/// A duration in one short piece: `8 ms`, `0.3 s`, `42 s`, `3 min 5 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        _ if duration.as_millis() < 100 => format!("{} ms", duration.as_millis()),
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A word as a shell reads it, for commands that people copy: a host that a server redirects to may be called
/// `$(reboot)`.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn printable(value: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(value);
    text.chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (seconds, expected) in [
            (0.0, "0 ms"),
            (0.0085, "8 ms"),
            (0.34, "0.3 s"),
            (42.9, "42 s"),
            (185.0, "3 min 5 s"),
            (7500.0, "2 h 5 min"),
            (273_600.0, "3 d 4 h"),
        ] {
            assert_eq!(short(Duration::from_secs_f64(seconds)), expected);
        }
    }

    #[test]
    fn a_command_to_copy_names_a_host_and_runs_nothing_else() {
        for (scope, word) in [
            ("www.example.org:8080", "www.example.org:8080"),
            ("$(reboot).example", "'$(reboot).example'"),
            ("it's;reboot", r"'it'\''s;reboot'"),
        ] {
            assert_eq!(shell_word(scope), word);
        }
    }

    #[test]
    fn instants_are_in_utc_to_the_second() {
        assert_eq!(
            clock(Timestamp::from_secs(1_716_215_521)),
            "2024-05-20 14:32:01 UTC"
        );
    }
}
