//! An alert as a program reads it.

use curtsy_core::{Alert, Scope, Timestamp};
use serde::Serialize;

/// What a webhook is sent and a command reads. The field names are public interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Message {
    /// What it is about: `rate_at_floor`, `delay_above_floor`, `breaker_open`, `scope_suppressed`,
    /// `robots_unreachable`.
    pub(super) alert: &'static str,
    /// `raised` or `cleared`.
    pub(super) state: &'static str,
    /// The scope.
    pub(super) scope: String,
    /// Since when its condition holds or held: RFC 3339, UTC.
    pub(super) since: String,
    /// When it was told: RFC 3339, UTC.
    pub(super) at: String,
    /// The same for a person.
    pub(super) text: String,
}

impl Message {
    pub(super) fn new(scope: &Scope, alert: &Alert, at: Timestamp) -> Self {
        Self {
            alert: alert.kind.label(),
            state: alert.state.label(),
            scope: scope.to_string(),
            since: alert.since.to_rfc3339(),
            at: at.to_rfc3339(),
            text: format!("{scope}: {}", alert.sentence()),
        }
    }

    pub(super) fn json(&self) -> Vec<u8> {
        // Texts alone are always written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The same as variables of an environment.
    pub(super) fn variables(&self) -> [(&'static str, &str); 6] {
        [
            ("CURTSY_ALERT_KIND", self.alert),
            ("CURTSY_ALERT_STATE", self.state),
            ("CURTSY_ALERT_SCOPE", &self.scope),
            ("CURTSY_ALERT_SINCE", &self.since),
            ("CURTSY_ALERT_AT", &self.at),
            ("CURTSY_ALERT_TEXT", &self.text),
        ]
    }
}

#[cfg(test)]
mod tests {
    use curtsy_core::{AlertKind, AlertState};

    use super::*;

    const DOCS: &str = include_str!("../../../../docs/alerts.md");

    #[test]
    fn the_docs_show_what_is_sent() {
        let alert = Alert {
            kind: AlertKind::ScopeSuppressed,
            state: AlertState::Raised,
            since: Timestamp::from_secs(1_796_072_921),
        };
        let at = Timestamp::from_micros(1_796_072_922_500_000);
        let message = Message::new(&Scope::named("www.example.org"), &alert, at);
        let shown = DOCS.split("```json").nth(1).unwrap();
        let shown = shown.split("```").next().unwrap();
        let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), shown);
        for (name, _) in message.variables() {
            assert!(DOCS.contains(&format!("`{name}`")), "{name}");
        }
        for kind in AlertKind::ALL {
            assert!(
                DOCS.contains(&format!("| `{}` |", kind.label())),
                "{kind:?}"
            );
        }
    }
}
