//! Alerts to a program of the operator's own.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::message::Message;
use crate::error::{Error, ErrorKind};

/// So long it may run.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the program with the alert as JSON on its standard input and in its environment. No shell is
/// between, so that nothing that a server says is ever taken for a command.
///
/// # Errors
/// It cannot be run, takes too long, or ends with another status than 0.
pub(super) async fn run(command: &[String], message: &Message) -> Result<(), Error> {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(());
    };
    let failed = |why: &str| Error::new(ErrorKind::Output, format!("the command {program}: {why}"));
    let mut child = Command::new(program)
        .args(arguments)
        .envs(message.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("it cannot be run").caused_by(error))?;
    let stdin = child.stdin.take();
    let whole = async {
        if let Some(mut stdin) = stdin {
            // It need not read it.
            let _ = stdin.write_all(&message.json()).await;
        }
        child.wait().await
    };
    match timeout(PATIENCE, whole).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(failed(&format!("it ended with {status}"))),
        Ok(Err(error)) => Err(failed("it cannot be waited for").caused_by(error)),
        Err(_) => Err(failed("it took too long and was stopped")),
    }
}
