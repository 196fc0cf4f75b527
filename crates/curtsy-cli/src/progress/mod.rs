//! How a job comes on, on standard error: a picture on a terminal, a line now and then elsewhere.

mod canvas;
pub(crate) mod meter;
mod papers;
mod picture;
mod scope;

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use curtsy::{Client, Outlook, ProgressView};
use curtsy_papers::batch::BatchHandle;
use tokio::task::JoinHandle;

use crate::output;
use canvas::Canvas;
use meter::Meter;
use papers::PaperWatcher;
use picture::Picture;

/// Between two pictures on a terminal.
const FRAME: Duration = Duration::from_millis(200);
/// Between two lines elsewhere.
const LINE: Duration = Duration::from_secs(10);
/// Scopes that have a line of their own, on a terminal and elsewhere.
const SCOPES: (usize, usize) = (8, 3);
/// Between two looks through all scopes of the job; in a large one as many times longer than a look takes.
const LOOK: (Duration, u32) = (Duration::from_secs(2), 50);

/// Where lines of a run go: above the picture, where there is one. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Screen {
    canvas: Option<Shared<Canvas>>,
    verbosity: u8,
    /// The last event, while a picture shows it.
    event: Shared<Option<String>>,
    is_live: Shared<bool>,
}

/// What keeps the picture up to date.
pub(crate) struct Display {
    screen: Screen,
    tasks: Vec<JoinHandle<()>>,
}

/// A number that grows, shown on a terminal.
pub(crate) struct Counter {
    what: &'static str,
    total: usize,
    canvas: Option<Shared<Canvas>>,
}

/// What the tasks of a display share.
type Shared<T> = Arc<Mutex<T>>;

impl Screen {
    /// Standard error: with a picture on a terminal, silent at verbosity 0.
    pub(crate) fn new(verbosity: u8) -> Self {
        let is_shown = std::io::stderr().is_terminal() && verbosity > 0;
        Self {
            canvas: is_shown.then(|| Arc::new(Mutex::new(Canvas::new()))),
            verbosity,
            event: Arc::default(),
            is_live: Arc::default(),
        }
    }

    /// Says one line.
    pub(crate) fn say(&self, line: &str) {
        match &self.canvas {
            Some(canvas) => lock(canvas).above(|| output::say(line)),
            None => output::say(line),
        }
    }

    /// Says what happens during a run: in the picture's own line where there is one, unless more than that
    /// is asked for.
    fn tell(&self, line: &str) {
        if *lock(&self.is_live) {
            *lock(&self.event) = Some(line.to_owned());
            if self.verbosity < 2 {
                return;
            }
        }
        self.say(line);
    }

    /// Shows how many of `total` are done, until it is dropped.
    pub(crate) fn counter(&self, what: &'static str, total: usize) -> Counter {
        Counter {
            what,
            total,
            canvas: self.canvas.clone(),
        }
    }

    /// Shows the progress of a job until the display is finished.
    pub(crate) fn show(&self, view: ProgressView, client: Client) -> Display {
        let mut tasks = Vec::new();
        if self.verbosity > 0 {
            let outlook = Shared::<Outlook>::default();
            let (rows, look) = if self.canvas.is_some() {
                (SCOPES.0, LOOK.0)
            } else {
                (SCOPES.1, LINE)
            };
            let watched = watch(
                view.clone(),
                client.clone(),
                rows,
                look,
                Arc::clone(&outlook),
            );
            tasks.push(tokio::spawn(watched));
            let watcher = Watcher {
                view,
                client,
                meter: Meter::default(),
                outlook,
                screen: self.clone(),
            };
            *lock(&self.is_live) = self.canvas.is_some();
            tasks.push(match &self.canvas {
                Some(canvas) => tokio::spawn(watcher.draw(Arc::clone(canvas))),
                None => tokio::spawn(watcher.tell()),
            });
        }
        Display {
            screen: self.clone(),
            tasks,
        }
    }
}

impl Screen {
    /// Shows the progress of a batch of papers until the display is finished.
    pub(crate) fn show_papers(&self, handle: BatchHandle, client: Client) -> Display {
        let mut tasks = Vec::new();
        if self.verbosity > 0 {
            let watcher = PaperWatcher {
                handle,
                client,
                meter: Meter::default(),
                screen: self.clone(),
            };
            *lock(&self.is_live) = self.canvas.is_some();
            tasks.push(match &self.canvas {
                Some(canvas) => tokio::spawn(watcher.draw(Arc::clone(canvas))),
                None => tokio::spawn(watcher.tell()),
            });
        }
        Display {
            screen: self.clone(),
            tasks,
        }
    }
}

impl Display {
    /// Takes the picture away.
    pub(crate) fn finish(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        *lock(&self.screen.is_live) = false;
        if let Some(canvas) = &self.screen.canvas {
            lock(canvas).show(Vec::new());
        }
    }
}

impl Counter {
    pub(crate) fn set(&self, count: usize) {
        if let Some(canvas) = &self.canvas {
            let line = format!("{count}/{} {}", self.total, self.what);
            lock(canvas).show(vec![line]);
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if let Some(canvas) = &self.canvas {
            lock(canvas).show(Vec::new());
        }
    }
}

/// Looks through the whole job now and then.
async fn watch(
    view: ProgressView,
    client: Client,
    rows: usize,
    pause: Duration,
    outlook: Shared<Outlook>,
) {
    loop {
        let busiest = client.busiest_scopes(2 * rows);
        let asked: Vec<_> = busiest.into_iter().map(|view| view.scope).collect();
        let begun = Instant::now();
        // Where the queue fails, the job itself says so.
        if let Ok(seen) = view.outlook(|scope| asked.contains(scope)).await {
            *lock(&outlook) = seen;
        }
        tokio::time::sleep(pause.max(begun.elapsed() * LOOK.1)).await;
    }
}

/// Who looks at a running job.
struct Watcher {
    view: ProgressView,
    client: Client,
    meter: Meter,
    outlook: Shared<Outlook>,
    screen: Screen,
}

impl Watcher {
    async fn draw(mut self, canvas: Shared<Canvas>) {
        loop {
            let (width, height) = lock(&canvas).size();
            let lines = self.look(SCOPES.0).lines(width, height);
            lock(&canvas).show(lines);
            tokio::time::sleep(FRAME).await;
        }
    }

    async fn tell(mut self) {
        loop {
            self.meter.note(self.view.now().ended_now);
            tokio::time::sleep(LINE).await;
            for line in self.look(SCOPES.1).plain_lines() {
                output::say(&line);
            }
        }
    }

    fn look(&mut self, rows: usize) -> Picture {
        let progress = self.view.now();
        self.meter.note(progress.ended_now);
        let outlook = lock(&self.outlook).clone();
        let now = self.client.now();
        Picture {
            rate: self.meter.rate(),
            eta: (!self.client.is_paused())
                .then(|| self.meter.eta(&progress, &outlook, now))
                .flatten(),
            scopes: self.client.busiest_scopes(rows),
            event: lock(&self.screen.event).clone(),
            progress,
            outlook,
            now,
        }
    }
}

/// Lets a listener tell lines on the screen.
pub(crate) fn speaker(screen: &Screen) -> impl Fn(&str) + Send + Sync + 'static {
    let screen = screen.clone();
    move |line| screen.tell(line)
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
