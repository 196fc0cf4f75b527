//! `curtsy origin`: the scripted server by itself.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use curtsy_origin::{
    Arrival, EXAMPLE, ErrorKind, Judgement, LogFormat, LogWriter, Options, Origin, Script, Tls,
    Verdict, judge,
};

use crate::args::OriginArgs;
use crate::failure::{Exit, Failure, chain};
use crate::lines;
use crate::output::Results;
use crate::session;

/// Runs the server until Ctrl-C or the end of its life, then judges who came.
///
/// # Errors
/// The script, certificate, address or log cannot be used.
pub(crate) fn run(args: &OriginArgs) -> Result<Exit, Failure> {
    if args.example {
        let mut results = Results::start();
        results.bytes(EXAMPLE.as_bytes())?;
        results.finish()?;
        return Ok(Exit::Done);
    }
    let script = script(args.script.as_deref())?;
    let options = options(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage("origin", error))?;
    runtime.block_on(serve(script, options, args))
}

async fn serve(script: Script, options: Options, args: &OriginArgs) -> Result<Exit, Failure> {
    let bind = options.bind;
    let mut origin = Origin::start_with(script, options)
        .await
        .map_err(|error| explain(&bind.to_string(), &error))?;
    // Told at once, since whoever started it may be waiting for the port.
    let mut results = Results::start();
    results.line(&format!("listening on {}", origin.url("/")))?;
    results.finish()?;

    let ended = tokio::select! {
        ended = origin.ended() => ended,
        () = session::told_to_stop() => origin.stop().await,
    };
    let log = args.log.as_deref().map(lines::name).unwrap_or_default();
    ended.map_err(|error| explain(&log, &error))?;

    let arrivals = origin.arrivals();
    let judgement = judge(origin.script(), &arrivals, &asked_for(&arrivals));
    let mut results = Results::start();
    results.line(&if args.json {
        serde_json::to_string(&judgement).unwrap_or_default()
    } else {
        tell(&judgement, origin.connections())
    })?;
    results.finish()?;
    Ok(Exit::Done)
}

/// Reads a script; without one, the example.
///
/// # Errors
/// It cannot be read, or is none.
pub(crate) fn script(path: Option<&Path>) -> Result<Script, Failure> {
    let Some(path) = path else {
        return Script::from_json(EXAMPLE).map_err(|error| explain("example", &error));
    };
    let name = lines::name(path);
    let mut text = String::new();
    lines::open(path)?
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(&name, error))?;
    Script::from_json(&text).map_err(|error| explain(&name, &error))
}

fn options(args: &OriginArgs) -> Result<Options, Failure> {
    let address = args.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let tls = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => {
            let pair = Tls::from_pem(&pem(cert)?, &pem(key)?);
            Some(pair.map_err(|error| explain(&lines::name(cert), &error))?)
        }
        _ => None,
    };
    let log = args.log.as_deref().map(|path| {
        LogWriter::create(path, LogFormat::of(path))
            .map_err(|error| explain(&lines::name(path), &error))
    });
    Ok(Options {
        bind: SocketAddr::new(address, args.port.unwrap_or(0)),
        tls,
        life: args.life,
        log: log.transpose()?,
        ..Options::default()
    })
}

fn pem(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error: io::Error| Failure::usage(path.display(), error))
}

/// Every path that a client asked for and that a quota governs.
fn asked_for(arrivals: &[Arrival]) -> Vec<&str> {
    let governed = arrivals
        .iter()
        .filter(|arrival| arrival.verdict != Verdict::Exempt);
    let paths: BTreeSet<_> = governed.map(|arrival| arrival.path.as_str()).collect();
    paths.into_iter().collect()
}

fn tell(judgement: &Judgement, connections: u64) -> String {
    let Judgement {
        arrivals,
        exempt,
        expected,
        served,
        refused,
        outage_hits,
        in_hold,
        short_gaps,
        peak_in_flight,
        took_s,
        ..
    } = judgement;
    format!(
        "{arrivals} requests on {connections} connections, at most {peak_in_flight} at once, and {exempt} that no \
         quota governs\n{served} of {expected} URLs served in {took_s:.1} s\n{refused} refused, {outage_hits} in \
         an outage, {in_hold} inside a hold, {short_gaps} too close to the one before"
    )
}

fn explain(what: &str, error: &curtsy_origin::Error) -> Failure {
    let exit = match error.kind() {
        ErrorKind::Log => Exit::Output,
        _ => Exit::Usage,
    };
    Failure::new(exit, what, chain(error))
}
