//! A plan for programs: one JSON object with every scope.

use curtsy::core::{Decline, Forecast, Timestamp};
use curtsy::{Obstacle, Plan, ScopePlan};
use serde_json::{Value as Json, json};

use super::{Outlook, ends_in};
use crate::failure::Failure;
use crate::output::Results;

/// Writes it scope by scope, since there may be many.
pub(super) fn write(out: &mut Results, plan: &Plan, outlook: &Outlook) -> Result<(), Failure> {
    let whole = json!({
        "now": plan.now.to_rfc3339(),
        "urls": outlook.urls,
        "done": plan.done,
        "duplicates": plan.duplicates,
        "is_rough": plan.is_rough,
        "bad_lines": outlook.bad_lines,
        "disallowed": outlook.disallowed,
        "obstructed": outlook.obstructed,
        "deferred": outlook.deferred,
        "due": outlook.due.map(Timestamp::to_rfc3339),
        "ends_at": outlook.end.map(Timestamp::to_rfc3339),
        "ends_in_s": outlook.end.map(|end| end.since(plan.now).as_secs_f64()),
    });
    let head = whole.to_string();
    out.bytes(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    out.bytes(b",\"scopes\":[")?;
    for (nth, planned) in plan.scopes.iter().enumerate() {
        if nth > 0 {
            out.bytes(b",")?;
        }
        out.bytes(scope(plan, planned).to_string().as_bytes())?;
    }
    out.line("]}")
}

fn scope(plan: &Plan, scope: &ScopePlan) -> Json {
    let tally = &scope.tally;
    let rules = tally
        .rules
        .iter()
        .map(|rule| json!({ "line": rule.line, "rule": rule.rule, "urls": rule.urls }));
    let mut json = json!({
        "scope": scope.scope.as_str(),
        "urls": tally.urls,
        "disallowed": tally.disallowed,
        "rules": rules.collect::<Vec<_>>(),
        "obstructed": tally.obstructed,
        "obstacle": tally.obstacle.as_ref().map(obstacle),
        "ends_at": scope.end().map(Timestamp::to_rfc3339),
        "ends_in_s": ends_in(plan, scope).map(|left| left.as_secs_f64()),
    });
    match scope.forecast {
        Forecast::Departs(course) => {
            let wait = course.first.not_before.since(plan.now);
            json["interval_s"] = course.interval.as_secs_f64().into();
            json["reason"] = course.reason.label().into();
            json["first"] =
                json!({ "reason": course.first.reason.label(), "wait_s": wait.as_secs_f64() });
            json["is_deferred"] = course.is_deferred.into();
        }
        Forecast::Declined(Decline::Suppressed { until }) => {
            json["suppressed"] = true.into();
            json["suppressed_until"] = until.map(Timestamp::to_rfc3339).into();
        }
    }
    json
}

fn obstacle(obstacle: &Obstacle) -> Json {
    match obstacle {
        Obstacle::Deferred(bound) => json!({
            "kind": "deferred",
            "reason": bound.reason.label(),
            "until": bound.not_before.to_rfc3339(),
        }),
        Obstacle::Failed(why) => json!({ "kind": "failed", "why": why }),
        Obstacle::Suppressed => json!({ "kind": "suppressed" }),
    }
}
