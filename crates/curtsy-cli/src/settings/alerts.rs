//! The keys of `[alerts]`: when a person is told of a scope, and through what.

use std::time::Duration;

use curtsy_core::AlertRules;

use super::Flags;
use super::layers::{Layers, key};
use crate::failure::Failure;
use crate::value::{CommandLine, WebhookUrl};

/// The longest that a rate or a delay must last: a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// When a person is told of a scope, and through what.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlertSettings {
    /// How long a condition lasts before it is told, up to a day; how long it is not told again. Default 10 min,
    /// 30 min.
    pub(crate) rules: AlertRules,
    /// Who is sent each alert. Default nobody.
    pub(crate) webhook: Option<WebhookUrl>,
    /// What is run for each alert. Default nothing.
    pub(crate) command: Option<CommandLine>,
}

/// Reads the keys from their layers and checks them.
///
/// # Errors
/// A value cannot be read, or is out of its bounds.
pub(super) fn read(layers: &mut Layers<'_>, flags: Flags<'_>) -> Result<AlertSettings, Failure> {
    let given = &flags.options.watching;
    let mut a = AlertSettings::default();
    layers.set(
        key("alert_webhook")
            .or("webhook")
            .flag("--alert-webhook")
            .unset("none"),
        given.alert_webhook.clone().map(Some),
        &mut a.webhook,
    )?;
    layers.set(
        key("alert_command")
            .or("command")
            .flag("--alert-command")
            .unset("none"),
        given.alert_command.clone().map(Some),
        &mut a.command,
    )?;
    layers.set(
        key("alert_sustained").or("sustained"),
        None,
        &mut a.rules.sustained,
    )?;
    layers.check(
        "alert_sustained",
        a.rules.sustained <= LONGEST,
        "must be at most 1 day",
    )?;
    layers.set(
        key("alert_cool_down").or("cool_down"),
        None,
        &mut a.rules.cool_down,
    )?;
    Ok(a)
}
