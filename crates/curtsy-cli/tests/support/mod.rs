//! A scripted origin, and curtsy run against it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, mpsc};

use curtsy_origin::{Origin, Script};

/// An origin on a thread of its own; it ends with the test.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) origin: Arc<Origin>,
    _stop: tokio::sync::oneshot::Sender<()>,
}

pub(crate) fn serve(script: &str) -> Server {
    serve_at(script, Ipv4Addr::LOCALHOST)
}

/// An origin at this address; at every one of this machine where it is unspecified.
pub(crate) fn serve_at(script: &str, address: Ipv4Addr) -> Server {
    let script = Script::from_json(script).unwrap();
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let origin = Origin::start(script, (address, 0)).await.unwrap();
            tell.send(Arc::new(origin)).unwrap();
            let _ = stopped.await;
        });
    });
    let origin = told.recv().unwrap();
    Server {
        url: origin.url(""),
        origin,
        _stop: stop,
    }
}

pub(crate) fn curtsy(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(arguments)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap()
}

/// What was told on standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const FAST: [&str; 6] = [
    "--rate",
    "200",
    "--state",
    "memory:",
    "--contact",
    "ann@example.org",
];

/// `curtsy fetch`, at a rate that keeps no test waiting. Its log must prove that every rule was kept.
pub(crate) fn fetch(dir: &Path, arguments: &[&str]) -> Output {
    let output = curtsy(dir, &[&["fetch"], arguments, &FAST].concat());
    let out = arguments.iter().position(|argument| *argument == "-o");
    let out = out.map_or("curtsy-out", |at| arguments[at + 1]);
    if dir.join(out).join(".curtsy/audit.jsonl").exists() {
        assert_proved(dir, &["--job", out]);
    }
    output
}

/// The logs must prove that every rule was kept.
pub(crate) fn assert_proved(dir: &Path, logs: &[&str]) {
    let proof = curtsy(dir, &[&["audit", "verify"], logs].concat());
    let told = String::from_utf8_lossy(&proof.stdout);
    assert!(proof.status.success(), "{told}{}", said(&proof));
}
