//! `curtsy paper find`: where the open copies are.

use curtsy_papers::retrieve::{Order, Paper};
use serde_json::json;

use super::given::AllGiven;
use crate::args::{FindArgs, GlobalArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::notices::notices;
use crate::output::{Results, say};
use crate::session;

pub(crate) fn run(args: &FindArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    session::run(async {
        let options = args.options.options_of(&args.copies, None);
        let settings = super::settings(&options, global)?;
        let notices = notices(settings.fetch.verbosity, say);
        let asking = args.options.asking();
        let access = session::access(&settings, asking, notices).await?;
        let retriever = super::copies::retriever(&settings.papers, access).build();
        let retriever = retriever.map_err(|error| session::paper_failure(&error))?;
        let mut all = AllGiven::of(&args.given);
        let mut out = Results::start();
        let (mut deferred, mut missing) = (false, false);
        while let Some(given) = all.next(1)?.pop() {
            let text = one_line(&given.text);
            let id = match given.id {
                Ok(id) => id,
                Err(why) => {
                    say(&format!("{text}: {why}"));
                    missing = true;
                    continue;
                }
            };
            let order = Order {
                given: given.text.clone(),
                ..Order::from(id)
            };
            let paper = retriever
                .find(order)
                .await
                .map_err(|error| session::paper_failure(&error))?;
            if paper.locations.is_empty() {
                deferred |= paper.verdict.until().is_some();
                missing = true;
                say(&format!("{text}: {}", super::get::sentence(&paper)));
            }
            show(args.json, given.line, &paper, &mut out)?;
        }
        out.finish()?;
        Ok(match (deferred, missing) {
            (true, _) => Exit::Deferred,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        })
    })
}

/// The copies in the order in which they would be tried.
fn show(json: bool, line: u64, paper: &Paper, out: &mut Results) -> Result<(), Failure> {
    for location in &paper.locations {
        if json {
            let row = json!({
                "line": line,
                "given": paper.given,
                "id": paper.id,
                "url": location.url.as_str(),
                "kind": location.kind,
                "source": location.source,
                "host_type": location.host_type,
                "version": location.version,
                "license": location.license,
                "retracted": paper.about.retracted,
            });
            out.line(&row.to_string())?;
        } else {
            let license = location.license.as_deref().unwrap_or("-");
            let kind = json!(location.kind);
            let kind = kind.as_str().unwrap_or_default().to_owned();
            out.line(&format!(
                "{}\t{kind}\t{}\t{license}\t{}",
                paper.id, location.source, location.url
            ))?;
        }
    }
    Ok(())
}
