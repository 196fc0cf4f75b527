//! Servers.

use std::time::Duration;

use curtsy_origin::{
    Anchor, Dialect, Outage, Policy, Refusal, ResetTells, RetryAfter, Rounding, Rule, Script,
    Service,
};

/// One server model, and what a client is allowed at most.
pub struct Model {
    pub script: Script,
    /// departures/s that it sustains.
    pub limit: f64,
    /// The time that counts as its window.
    pub window: Duration,
    pub published: bool,
    pub rate: f64,
}

/// Reproducible randomness (SplitMix64, Steele and others 2014).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[(self.roll() * of.len() as f64) as usize].clone()
    }

    /// Evenly over the orders of magnitude.
    pub fn between(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.roll())
    }
}

/// A server that nobody tuned to.
pub fn random(seed: u64) -> Model {
    let mut dice = Dice::new(seed);
    let window = dice.between(1.0, 60.0).round();
    let limit = (dice.between(0.5, 30.0) * window).max(3.0) as u64;
    let sustained = limit as f64 / window;
    let window = Duration::from_secs_f64(window);
    let kind = dice.pick(&[
        "fixed",
        "clock",
        "sliding",
        "counter",
        "token",
        "leaky",
        "concurrency",
        "counting",
    ]);
    let fixed = |anchor| Rule::FixedWindow {
        limit,
        window,
        anchor,
    };
    let rule = match kind {
        "fixed" => fixed(Anchor::FirstRequest),
        "clock" => fixed(Anchor::Clock),
        "sliding" => Rule::SlidingWindow {
            limit,
            window,
            count_refused: false,
        },
        "counter" => Rule::SlidingCounter {
            limit,
            window,
            count_refused: false,
        },
        "counting" => Rule::SlidingCounter {
            limit,
            window,
            count_refused: true,
        },
        "token" => Rule::TokenBucket {
            rate_per_s: sustained,
            burst: limit,
        },
        "leaky" => Rule::LeakyQueue {
            rate_per_s: sustained,
            queue: limit.min(20),
        },
        _ => Rule::Concurrency {
            limit: limit.min(4),
            retry: Duration::from_secs(1),
        },
    };
    let published = kind != "concurrency" && kind != "leaky" && dice.roll() < 0.3;
    let dialect = if published {
        dice.pick(&[Dialect::Draft6, Dialect::Draft8, Dialect::Draft7])
    } else {
        Dialect::None
    };
    let mut policy = Policy::new(rule);
    policy.published = published;
    let mut latency = dice.between(0.002, 0.2);
    let (mut limit, mut window) = (sustained, window);
    if kind == "concurrency" {
        latency = dice.between(0.1, 1.0);
        window = Duration::from_secs(5);
        if let Rule::Concurrency { limit: places, .. } = policy.rule {
            limit = places as f64 / latency;
        }
    }
    let script = Script {
        policies: vec![policy],
        refuse: Refusal {
            status: dice.pick(&[429, 429, 503]),
            retry_after: dice.pick(&[
                RetryAfter::None,
                RetryAfter::None,
                RetryAfter::Seconds,
                RetryAfter::Floor,
                RetryAfter::Date,
            ]),
            ..Refusal::default()
        },
        dialect,
        rounding: dice.pick(&[Rounding::Up, Rounding::Down, Rounding::Nearest]),
        reset_tells: ResetTells::Full,
        service: Service {
            latency: Duration::from_secs_f64(latency),
            ..Service::default()
        },
        ..Script::default()
    };
    // The operator's own ceiling lies above what the server bears.
    let rate = limit * dice.between(1.2, 8.0);
    Model {
        script,
        limit,
        window,
        published,
        rate,
    }
}

/// A job by which clients are compared, and what is demanded of one.
pub struct Job {
    pub name: &'static str,
    pub script: Script,
    pub requests: u64,
    /// The client's own rate, departures/s.
    pub rate: f64,
    /// Who knows every limit beforehand takes so long, seconds.
    pub optimum_s: f64,
    /// The most times that.
    pub ratio: f64,
    /// The most refusals, those of an outage included.
    pub refused: usize,
}

/// All jobs. In flight when an outage begins are eight at most.
pub fn jobs() -> Vec<Job> {
    let secs = Duration::from_secs;
    let service = |ms| Service {
        latency: Duration::from_millis(ms),
        ..Service::default()
    };
    let hidden = |policy: Policy, status, retry_after| Script {
        policies: vec![policy.hidden()],
        refuse: Refusal {
            status,
            retry_after,
            ..Refusal::default()
        },
        service: service(5),
        ..Script::default()
    };
    let told = |dialect| Script {
        policies: vec![Policy::fixed_window(50, secs(5))],
        dialect,
        service: service(5),
        ..Script::default()
    };
    let outage = |retry_after| Script {
        outages: vec![Outage {
            at: secs(1),
            lasts: secs(6),
            status: 503,
            reset: false,
            retry_after,
        }],
        service: Service {
            workers: 4,
            ..service(50)
        },
        ..Script::default()
    };
    let counting = Policy::new(Rule::SlidingCounter {
        limit: 50,
        window: secs(5),
        count_refused: true,
    });
    let window = |limit, window| Policy::fixed_window(limit, secs(window));
    let job = |name, script, requests, rate, optimum_s, ratio, refused| Job {
        name,
        script,
        requests,
        rate,
        optimum_s,
        ratio,
        refused,
    };
    use RetryAfter::{Date, Fixed, None, Seconds};
    vec![
        job(
            "quota-headers",
            told(Dialect::Draft6),
            300,
            20.0,
            25.0,
            1.22,
            0,
        ),
        job(
            "quota-draft8",
            told(Dialect::Draft8),
            300,
            20.0,
            25.0,
            1.22,
            0,
        ),
        job(
            "quota-headers-3000",
            told(Dialect::Draft6),
            3_000,
            20.0,
            295.0,
            1.03,
            0,
        ),
        job(
            "quota-hidden",
            hidden(window(50, 5), 429, None),
            300,
            20.0,
            25.0,
            1.45,
            5,
        ),
        job(
            "token-hidden",
            hidden(Policy::token_bucket(10.0, 50), 503, None),
            300,
            20.0,
            25.0,
            1.3,
            8,
        ),
        job(
            "retry-after-2",
            hidden(window(40, 2), 429, Fixed(2.0)),
            200,
            20.0,
            8.0,
            1.8,
            4,
        ),
        job(
            "retry-after-date",
            hidden(window(40, 2), 429, Date),
            200,
            20.0,
            8.0,
            1.8,
            4,
        ),
        job(
            "counter-counts-refused",
            hidden(counting, 429, Fixed(5.0)),
            300,
            20.0,
            30.0,
            1.5,
            3,
        ),
        job("outage", outage(None), 160, 20.0, 8.0, 2.0, 12),
        job("outage, fast", outage(None), 160, 100.0, 8.0, 1.5, 12),
        job("outage-told", outage(Seconds), 160, 20.0, 8.0, 1.9, 8),
        job(
            "outage-told, fast",
            outage(Seconds),
            160,
            100.0,
            8.0,
            1.3,
            8,
        ),
    ]
}
