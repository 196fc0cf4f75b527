//! A job and its workers.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

/// No job of these tests takes longer.
const WITHIN: Duration = Duration::from_secs(120);

/// The workers of one job, each with a directory of its own.
pub(crate) struct Fleet {
    queue: String,
    dir: TempDir,
    options: Vec<String>,
    pub(crate) workers: Vec<Worker>,
    /// What puts their wall clocks wrong.
    #[cfg(target_os = "linux")]
    clocks: Option<crate::wrong_clocks::WrongClocks>,
    /// Directories that were given to workers.
    dirs: usize,
}

/// A worker and its directory.
pub(crate) struct Worker {
    pub(crate) process: Child,
    out: PathBuf,
}

impl Fleet {
    /// Starts workers that wait for URLs in the queue in this Redis.
    pub(crate) fn start(redis: &str, workers: usize, options: &[&str]) -> Self {
        let mut fleet = Self {
            queue: redis.to_owned(),
            dir: tempfile::tempdir().unwrap(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            workers: Vec::new(),
            #[cfg(target_os = "linux")]
            clocks: None,
            dirs: 0,
        };
        for _ in 0..workers {
            fleet.join(&[]);
        }
        fleet
    }

    /// Has the wall clocks of all who join from now on 30 s apart.
    #[cfg(target_os = "linux")]
    pub(crate) fn put_clocks_wrong(&mut self, clocks: crate::wrong_clocks::WrongClocks) {
        self.clocks = Some(clocks);
    }

    /// Has one more worker join, with these options of its own.
    pub(crate) fn join(&mut self, options: &[&str]) {
        self.spawn("work", options);
    }

    /// Has one more worker fetch a list, and answers when the job has ended for all.
    pub(crate) fn fetch(&mut self, urls: &[String]) {
        self.begin(urls);
        self.end();
    }

    /// Has one more worker begin to fetch a list.
    pub(crate) fn begin(&mut self, urls: &[String]) {
        let list = self.dir.path().join("list");
        std::fs::write(&list, urls.join("\n")).unwrap();
        let list = list.to_str().unwrap();
        self.spawn("fetch", &["-i", list]);
    }

    /// Waits until all workers have ended well.
    pub(crate) fn end(&mut self) {
        let ends = self.exits();
        let told = self.workers.iter_mut().map(told);
        let told: Vec<String> = told.collect();
        assert!(
            ends.iter().all(|code| *code == Some(0)),
            "{ends:?}: {told:#?}"
        );
    }

    /// Waits until all workers have ended, and answers how.
    pub(crate) fn exits(&mut self) -> Vec<Option<i32>> {
        let started = Instant::now();
        let exit = |worker: &mut Worker| loop {
            if let Some(status) = worker.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(started.elapsed() < WITHIN, "the job does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        self.workers.iter_mut().map(exit).collect()
    }

    /// Stops a worker as a process manager does, and answers how it ended.
    pub(crate) fn stop(&mut self, worker: usize) -> Option<i32> {
        let mut stopped = self.workers.remove(worker).process;
        let id = stopped.id().to_string();
        let sent = Command::new("kill").arg(&id).status();
        assert!(sent.unwrap().success());
        stopped.wait().unwrap().code()
    }

    /// Kills a worker as a crash of its machine would; answers the URLs that it had recorded.
    pub(crate) fn kill(&mut self, worker: usize) -> Vec<String> {
        let mut killed = self.workers.remove(worker);
        killed.process.kill().unwrap();
        killed.process.wait().unwrap();
        killed.recorded()
    }

    /// Asserts that the job's own manifest has each of these once, fetched.
    pub(crate) fn assert_each_is_recorded_once(&self, urls: &[String]) {
        let output = self
            .command("job", &["export", "fleet", "--queue", &self.queue])
            .output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let lines: Vec<Json> = text.lines().map(json).collect();
        for line in &lines {
            assert_eq!(line["outcome"], "fetched", "{line}");
        }
        let recorded: Vec<String> = lines.iter().map(url_of).collect();
        assert_eq!(recorded, urls);
    }

    /// When pages of this server departed, by the records of all workers: since midnight, in order.
    pub(crate) fn departures(&self, server: &str) -> Vec<Duration> {
        let of_each = self.workers.iter();
        let mut departures: Vec<Duration> = of_each
            .flat_map(|worker| departures_in(&worker.out, server))
            .collect();
        departures.sort_unstable();
        departures
    }

    /// The logs of all workers together must prove that every rule was kept.
    fn assert_proved(&self) {
        let dirs = (0..self.dirs).map(|dir| format!("worker-{dir}/.curtsy/audit.jsonl"));
        let logs: Vec<String> = dirs
            .filter(|log| self.dir.path().join(log).exists())
            .collect();
        if logs.is_empty() {
            return;
        }
        let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
        crate::support::assert_proved(self.dir.path(), &logs);
    }

    fn spawn(&mut self, command: &str, more: &[&str]) {
        let out = self.dir.path().join(format!("worker-{}", self.dirs));
        let mut curtsy = self.command(command, more);
        #[cfg(target_os = "linux")]
        if let Some(clocks) = &self.clocks {
            curtsy.envs(clocks.ahead([30, 0, -30][self.dirs % 3]));
        }
        self.dirs += 1;
        let process = curtsy
            .args(["--queue", &self.queue, "--job", "fleet"])
            .args(["--json", "-q", "-o"])
            .arg(&out)
            .args(&self.options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        self.workers.push(Worker { process, out });
    }

    fn command(&self, command: &str, more: &[&str]) -> Command {
        let mut curtsy = Command::new(env!("CARGO_BIN_EXE_curtsy"));
        curtsy
            .arg(command)
            .args(more)
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path());
        curtsy
    }
}

impl Worker {
    /// The URLs in its manifest, but for a line that a kill has torn.
    pub(crate) fn recorded(&self) -> Vec<String> {
        let manifest = self.out.join("manifest.jsonl");
        let text = std::fs::read_to_string(manifest).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| url_of(&json(line))).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.process.kill();
            let _ = worker.process.wait();
        }
        if !std::thread::panicking() {
            self.assert_proved();
        }
    }
}

/// What a worker that has ended says of the job.
fn told(worker: &mut Worker) -> String {
    let mut told = String::new();
    let mut output = worker.process.stdout.take().unwrap();
    output.read_to_string(&mut told).unwrap();
    told
}

/// When pages of this server departed, by the record in the directory of a worker: since midnight.
pub(crate) fn departures_in(out: &Path, server: &str) -> Vec<Duration> {
    let log = out.join(".curtsy/audit.jsonl");
    let text = std::fs::read_to_string(log).unwrap();
    let events = text.lines().map(json);
    let pages = events.filter(|event| {
        let is_page = event["url"]
            .as_str()
            .is_some_and(|url| url.starts_with(server));
        event["event"] == "outcome" && event["kind"] != "robots" && is_page
    });
    pages
        .map(|event| since_midnight(event["departed_at"].as_str().unwrap()))
        .collect()
}

/// The time of day of an instant as the log writes it, to the microsecond.
fn since_midnight(rfc3339: &str) -> Duration {
    let time = rfc3339.split_once('T').unwrap().1.trim_end_matches('Z');
    let parts: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    let micros = (parts[0] * 3600.0 + parts[1] * 60.0 + parts[2]) * 1e6;
    Duration::from_micros(micros.round() as u64)
}

fn json(line: &str) -> Json {
    serde_json::from_str(line).unwrap()
}

fn url_of(line: &Json) -> String {
    line["url"].as_str().unwrap().to_owned()
}
