//! `curtsy paper cite`: citations to standard output.

use curtsy_papers::cite::{self, Bibliography};
use curtsy_papers::{Access, Answer};

use super::given::AllGiven;
use super::unavailable;
use super::worse;
use crate::args::{CiteArgs, GlobalArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::output::{Results, complain, say};
use crate::session;

pub(crate) fn run(args: &CiteArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    session::run(async {
        let access = super::access(&args.options, global).await?;
        print(args, &access).await
    })
}

async fn print(args: &CiteArgs, access: &Access) -> Result<Exit, Failure> {
    let mut all = AllGiven::of(&args.given);
    let mut bibliography = Bibliography::new(args.format);
    let mut out = Results::start();
    let mut worst = Exit::Done;
    while let Some(given) = all.next(1)?.pop() {
        let text = one_line(&given.text);
        let id = match given.id {
            Ok(id) => id,
            Err(why) => {
                say(&format!("line {}: {text}: {why}", given.line));
                worst = worse(worst, Exit::No);
                continue;
            }
        };
        let answer = cite::fetch(access, &id)
            .await
            .map_err(|error| session::paper_failure(&error))?;
        match &answer {
            Answer::Found(item) => out.bytes(bibliography.entry(item).as_bytes())?,
            answer => {
                let failure = unavailable::failure(&text, answer);
                complain(&failure);
                worst = worse(worst, failure.exit());
            }
        }
    }
    out.bytes(bibliography.end().as_bytes())?;
    out.finish()?;
    Ok(worst)
}
