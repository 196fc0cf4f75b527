//! `curtsy paper ids`: the other names of papers.

use curtsy_papers::convert::{Conversion, convert_ids};
use curtsy_papers::{Access, Identifier};
use serde_json::{Value as Json, json};

use super::given::{AllGiven, Given};
use super::unavailable::{exit, sentence};
use super::worse;
use crate::args::{GlobalArgs, IdsArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::output::{Results, say};
use crate::session;

/// So many are asked about at once: a whole number of everybody's calls.
const BATCH: usize = 1_000;

pub(crate) fn run(args: &IdsArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    session::run(async {
        let access = super::access(&args.options, global).await?;
        show(args, &access).await
    })
}

async fn show(args: &IdsArgs, access: &Access) -> Result<Exit, Failure> {
    let mut all = AllGiven::of(&args.given);
    let mut out = Results::start();
    let mut worst = Exit::Done;
    if !args.json {
        out.line("given\tdoi\tpmid\tpmcid\tarxiv")?;
    }
    loop {
        let some = all.next(BATCH)?;
        if some.is_empty() {
            break;
        }
        let ids: Vec<Identifier> = some
            .iter()
            .filter_map(|given| given.id.clone().ok())
            .collect();
        let found = convert_ids(access, &ids)
            .await
            .map_err(|error| session::paper_failure(&error))?;
        let mut found = found.into_iter();
        for given in &some {
            let conversion = given.id.as_ref().ok().and_then(|_| found.next());
            let row = Row { given, conversion };
            out.line(&if args.json {
                row.json().to_string()
            } else {
                row.text()
            })?;
            if let Some(why) = row.trouble() {
                say(&format!(
                    "line {}: {}: {why}",
                    given.line,
                    one_line(&given.text)
                ));
            }
            worst = worse(worst, row.exit());
        }
    }
    out.finish()?;
    Ok(worst)
}

struct Row<'a> {
    given: &'a Given,
    conversion: Option<Conversion>,
}

impl Row<'_> {
    fn names(&self) -> [Option<String>; 4] {
        let ids = self.conversion.as_ref().map(|conversion| &conversion.ids);
        [
            ids.and_then(|ids| ids.doi.as_ref())
                .map(ToString::to_string),
            ids.and_then(|ids| ids.pmid).map(|pmid| pmid.to_string()),
            ids.and_then(|ids| ids.pmcid).map(|pmcid| pmcid.to_string()),
            ids.and_then(|ids| ids.arxiv.as_ref())
                .map(ToString::to_string),
        ]
    }

    fn text(&self) -> String {
        let names = self.names().map(Option::unwrap_or_default);
        let cells: Vec<String> = [one_line(&self.given.text)]
            .into_iter()
            .chain(names)
            .collect();
        cells.join("\t").trim_end_matches('\t').to_owned()
    }

    fn json(&self) -> Json {
        let [doi, pmid, pmcid, arxiv] = self.names();
        let unavailable = self
            .conversion
            .as_ref()
            .and_then(|conversion| conversion.unavailable.as_ref());
        let reason = match &self.given.id {
            Err(_) => Some("bad_id"),
            Ok(_) => unavailable.map(|why| why.reason.label()),
        };
        json!({
            "line": self.given.line,
            "given": self.given.text,
            "doi": doi,
            "pmid": pmid,
            "pmcid": pmcid,
            "arxiv": arxiv,
            "reason": reason,
            "until": unavailable.and_then(|why| why.until).map(|until| until.to_rfc3339()),
        })
    }

    /// What a person is told beside the row.
    fn trouble(&self) -> Option<String> {
        match (&self.given.id, &self.conversion) {
            (Err(why), _) => Some(why.clone()),
            (Ok(_), Some(conversion)) => {
                let why = conversion.unavailable.as_ref()?;
                Some(format!("may have more names: {}", sentence(why)))
            }
            _ => None,
        }
    }

    fn exit(&self) -> Exit {
        match &self.conversion {
            None => Exit::No,
            Some(conversion) => {
                let why = conversion.unavailable.as_ref();
                why.map_or(Exit::Done, |why| exit(why.until))
            }
        }
    }
}
