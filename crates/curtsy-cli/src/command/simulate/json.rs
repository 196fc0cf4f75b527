//! A simulation for programs: one JSON object.

use serde_json::{Map, Value as Json, json};

use super::Spread;
use super::figures::{Figures, best};
use super::model::Model;
use super::picture::Picture;
use super::words::SPREADS;
use crate::failure::Failure;
use crate::output::Results;

pub(super) fn write(
    out: &mut Results,
    model: &Model<'_>,
    figures: &[Figures],
    picture: Option<&Picture>,
) -> Result<(), Failure> {
    let spreads = SPREADS.iter().map(|row| {
        let spread = Spread::of(figures.iter().map(row.value));
        let spread = spread
            .map(|of| json!({"least": of.least, "median": of.median, "most": of.most}))
            .unwrap_or_default();
        (row.key.to_owned(), spread)
    });
    let whole = json!({
        "requests": model.requests,
        "limit_per_s": model.limit(),
        "optimum_s": best(model).as_secs_f64(),
        "runs": figures,
        "spread": spreads.collect::<Map<_, _>>(),
        "series": picture.map(series),
    });
    out.line(&whole.to_string())
}

/// The first run over time.
fn series(picture: &Picture) -> Json {
    let columns = &picture.columns;
    json!({
        "column_s": columns.width.as_secs_f64(),
        "arrivals": columns.counts,
        "refused": columns.refused,
        "held": columns.held,
        "pace_per_s": picture.paces,
    })
}
