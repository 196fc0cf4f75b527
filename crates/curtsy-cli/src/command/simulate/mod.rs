//! `curtsy simulate`: what a policy would do against a modelled server, in virtual time.

mod figures;
mod json;
mod model;
mod picture;
mod svg;
mod words;

use std::fs;

use curtsy_core::{Policy, Scope};

use crate::args::{GlobalArgs, SimulateArgs};
use crate::command::origin;
use crate::failure::{Exit, Failure};
use crate::output::{self, Results};
use crate::settings::{Flags, Settings};
use figures::Figures;
use model::Model;
use picture::Picture;

/// Columns of the series that programs get and that the SVG shows.
const FINE: usize = 180;
/// How wide a terminal is taken to be where there is none.
const WIDTH: usize = 80;

/// Runs the job as often as asked, and shows what came of it.
///
/// # Errors
/// The configuration or the script is wrong, or the output cannot be written.
pub(crate) fn run(args: &SimulateArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = Settings::load(Flags {
        global,
        options: &args.options(),
        json: args.json,
    })?;
    if settings.fetch.verbosity > 0 {
        for warning in &settings.warnings {
            output::say(warning);
        }
    }
    if args.most.is_zero() {
        return Err(Failure::usage("--for", "must be above 0"));
    }
    let model = Model {
        script: origin::script(args.script.as_deref())?,
        path: &args.path,
        policy: policy(settings, args.scope.as_deref())?,
        requests: args.requests,
        most: args.most,
    };

    let first = model.play(args.seed);
    let mut figures = vec![Figures::of(&model, &first, args.seed)];
    for seed in (args.seed..=u64::MAX).take(args.runs as usize).skip(1) {
        figures.push(Figures::of(&model, &model.play(seed), seed));
    }
    let picture = |most| Picture::of(&model, &first, most);
    if let Some(path) = &args.plot {
        let svg = picture(FINE).map(|picture| svg::draw(&picture, &figures[0]));
        fs::write(path, svg.unwrap_or_default())
            .map_err(|error| Failure::new(Exit::Output, path.display(), error))?;
    }
    let mut out = Results::start();
    if args.json {
        json::write(&mut out, &model, &figures, picture(FINE).as_ref())?;
    } else {
        let width = output::width().unwrap_or(WIDTH);
        let picture = picture(picture::columns(width));
        words::write(&mut out, &model, &figures, picture.as_ref(), width)?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

/// The policy that holds for `scope`.
fn policy(settings: Settings, scope: Option<&str>) -> Result<Policy, Failure> {
    let Some(name) = scope else {
        return Ok(settings.policy);
    };
    let mut scope = Scope::named(name);
    if let Some(group) = settings.groups.get(&scope) {
        scope = group.clone();
    }
    settings.scopes.get(&scope).cloned().ok_or_else(|| {
        let why = format!(
            "{name} has no section in the configuration, so that [policy] alone holds: leave it out"
        );
        Failure::usage("--scope", why)
    })
}

/// A figure of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    /// `None` where no run has it.
    fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let mut values: Vec<f64> = values.flatten().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let upper = values.len() / 2;
        let lower = values.len().div_ceil(2) - 1;
        Some(Self {
            least,
            median: f64::midpoint(values[lower], values[upper]),
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between_two() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied().map(Some));
        let of = |least, median, most| {
            Some(Spread {
                least,
                median,
                most,
            })
        };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), of(1.0, 2.0, 3.0));
        assert_eq!(spread(&[4.0, 1.0]), of(1.0, 2.5, 4.0));
        assert_eq!(spread(&[]), None);
    }
}
