//! `curtsy get`: one URL, its body to standard output.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use curtsy::{Body, Reply, Response};

use crate::args::{GetArgs, GlobalArgs};
use crate::failure::{Exit, Failure};
use crate::notices::{clock, notices};
use crate::output::{Results, say};
use crate::session;
use crate::settings::{Flags, Settings};

pub(crate) fn run(args: &GetArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let options = args.asking.options();
    let settings = Settings::load(Flags {
        global,
        options: &options,
        json: false,
    })?;
    session::run(get(args, &settings))
}

async fn get(args: &GetArgs, settings: &Settings) -> Result<Exit, Failure> {
    let notices = notices(settings.fetch.verbosity, say);
    let client = session::client(settings, notices).await?;
    let reply = client
        .get(&args.url)
        .await
        .map_err(|error| session::failure("get", &error))?;
    match reply {
        Reply::Response(response) => answer(response, args.out.as_deref()).await,
        Reply::Disallowed(no) => {
            let why = match (no.rule, no.line) {
                (Some(rule), Some(line)) => format!("robots.txt line {line}: {rule}"),
                _ => "robots.txt forbids the whole site".to_owned(),
            };
            Err(Failure::new(Exit::No, "not allowed", why))
        }
        Reply::Deferred(later) => {
            let what = format!("not before {}", clock(later.bound.not_before));
            Err(Failure::new(
                Exit::Deferred,
                what,
                later.bound.reason.sentence(),
            ))
        }
    }
}

async fn answer(response: Response, out: Option<&Path>) -> Result<Exit, Failure> {
    let (status, synthetic) = (response.status, response.synthetic);
    match out {
        None => to_stdout(response.body).await?,
        Some(path) => to_file(response.body, path).await?,
    }
    if synthetic {
        return Err(Failure::new(
            Exit::No,
            "suppressed",
            "this host answered 403 before and is left alone; curtsy state lift ends that",
        ));
    }
    if status.as_u16() >= 400 {
        return Err(Failure::new(Exit::No, "the server answered", status));
    }
    Ok(Exit::Done)
}

async fn to_stdout(mut body: Body) -> Result<(), Failure> {
    let mut out = Results::start();
    while let Some(piece) = body
        .chunk()
        .await
        .map_err(|error| session::failure("get", &error))?
    {
        out.bytes(&piece)?;
    }
    out.finish()
}

/// Under another name until it is whole.
async fn to_file(mut body: Body, path: &Path) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let failed = |error| Failure::new(Exit::Output, path.display(), error);
    let mut file = File::create(&part).map_err(failed)?;
    loop {
        match body.chunk().await {
            Ok(Some(piece)) => file.write_all(&piece).map_err(failed)?,
            Ok(None) => break,
            Err(error) => {
                let _ = std::fs::remove_file(&part);
                return Err(session::failure("get", &error));
            }
        }
    }
    file.sync_all().map_err(failed)?;
    std::fs::rename(&part, path).map_err(failed)
}
