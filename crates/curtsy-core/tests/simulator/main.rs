//! The learned pace (rules L1–L5) against modelled servers, in virtual time: many that nobody tuned to,
//! the jobs by which clients are compared, and two clients that know nothing of each other.
//!
//! `cargo test -p curtsy-core --test simulator -- --nocapture` prints what came of them.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod models;
mod scene;

use std::thread;
use std::time::Duration;

use curtsy_core::simulate::Client;
use curtsy_origin::{Policy, Rule, Script, Verdict};
use scene::{Outcome, middle, play, policy, run};

const MODELS: u64 = 500;

/// Twenty windows of each model; what is counted begins with the third.
fn outcomes() -> Vec<Outcome> {
    let some = |from: u64| move || (from..MODELS).step_by(4).map(play).collect::<Vec<_>>();
    let parts: Vec<_> = (0..4).map(|from| thread::spawn(some(from))).collect();
    let parts = parts.into_iter().map(|part| part.join().unwrap());
    parts.flatten().collect()
}

#[test]
fn servers_that_nobody_tuned_to_are_used_nearly_whole_and_hardly_overrun() {
    let outcomes = outcomes();
    for outcome in &outcomes {
        let what = format!("{}: {}", outcome.seed, outcome.rule);
        assert_eq!(outcome.in_hold, 0, "{what}");
        assert!(outcome.fastest <= outcome.allowed, "{what}");
        if outcome.published {
            assert_eq!(outcome.refused_ever, 0, "{what}");
        }
    }
    let (told, hidden): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.published);
    for (name, of) in [("published", &told), ("hidden", &hidden)] {
        let used = middle(of.iter().map(|outcome| outcome.used));
        let refused = of.iter().map(|outcome| outcome.refused).sum::<f64>() / of.len() as f64;
        let steady = of.iter().filter(|outcome| outcome.wobble < 0.1).count();
        println!(
            "{name}: {} models, {used:.3} used in the median, {refused:.3} refused a window, {steady} steady",
            of.len()
        );
        assert!(used >= 0.93, "{name}: {used:.3} used");
        assert!(refused <= 0.1, "{name}: {refused:.3} refused a window");
    }
    let wobbling = hidden
        .iter()
        .filter(|outcome| outcome.wobble >= 0.1)
        .count();
    assert!(
        wobbling <= hidden.len() / 30,
        "{wobbling} learned rates oscillate"
    );
}

#[test]
fn the_jobs_by_which_clients_are_compared() {
    for job in models::jobs() {
        let (mut ratios, mut refused) = (Vec::new(), Vec::new());
        for seed in 0..10 {
            let mut client = Client::new(policy(job.rate).build().unwrap(), job.requests);
            client.seed = seed;
            let (origin, runs) = run(&job.script, &[client], Duration::from_secs(600));
            let arrivals = origin.arrivals().iter();
            refused.push(
                arrivals
                    .filter(|arrival| arrival.verdict != Verdict::Ok)
                    .count(),
            );
            ratios.push(runs[0].took.as_secs_f64() / job.optimum_s);
            assert_eq!(scene::in_hold(&origin), 0, "{}, seed {seed}", job.name);
            assert_eq!(runs[0].lost, 0, "{}, seed {seed}", job.name);
        }
        let (ratio, refused) = (
            ratios.iter().copied().fold(0.0, f64::max),
            refused.into_iter().max().unwrap(),
        );
        println!(
            "{}: {:.2}, {ratio:.2} at most; {refused} refused",
            job.name,
            middle(ratios)
        );
        assert!(
            ratio <= job.ratio,
            "{}: {ratio:.3} times the optimum",
            job.name
        );
        assert!(refused <= job.refused, "{}: {refused} refused", job.name);
    }
}

#[test]
fn what_was_learned_does_not_wear_away_over_a_long_job() {
    for policy in [
        Policy::fixed_window(50, Duration::from_secs(5)),
        Policy::sliding_window(50, Duration::from_secs(5)),
        Policy::token_bucket(10.0, 50),
    ] {
        let script = Script {
            policies: vec![policy.hidden()],
            refuse: curtsy_origin::Refusal {
                retry_after: curtsy_origin::RetryAfter::None,
                ..curtsy_origin::Refusal::default()
            },
            ..Script::default()
        };
        let client = Client::new(scene::policy(20.0).build().unwrap(), 30_000);
        let (origin, runs) = run(&script, &[client], Duration::from_secs(10_000));
        let used = 3_000.0 / runs[0].took.as_secs_f64();
        let refused = origin.arrivals().len() - 30_000;
        let rule = &script.policies[0].rule;
        println!("{rule:?}: {used:.3} used, {refused} refused");
        assert!(used >= 0.9, "{rule:?}: {used:.3} used");
        assert!(refused <= 60, "{rule:?}: {refused} refused in 600 windows");
    }
}

#[test]
fn two_clients_of_one_host_share_it_fairly_without_a_word() {
    let window = Duration::from_secs(5);
    for rule in [
        Policy::fixed_window(50, window).rule,
        Policy::sliding_window(50, window).rule,
        Rule::TokenBucket {
            rate_per_s: 10.0,
            burst: 50,
        },
    ] {
        for seed in 0..5 {
            let script = Script {
                policies: vec![Policy::new(rule.clone()).hidden()],
                ..Script::default()
            };
            let clients = [0, 1].map(|nth| {
                let mut client = Client::new(policy(20.0).build().unwrap(), 1_000_000);
                client.seed = 2 * seed + nth;
                client
            });
            let (_, runs) = run(&script, &clients, window * 30);
            let late = |run: &curtsy_core::simulate::Run| {
                let from = scene::stamp(window * 20);
                run.departures
                    .iter()
                    .filter(|departed| departed.at >= from)
                    .count() as f64
            };
            let (one, other) = (late(&runs[0]), late(&runs[1]));
            let share = one / (one + other);
            println!(
                "{rule:?}, seed {seed}: {share:.2} of {:.2}/s",
                (one + other) / 50.0
            );
            assert!(
                (0.3..0.7).contains(&share),
                "{rule:?}, seed {seed}: {share:.2}"
            );
            // In ten windows; a bucket may have been full before.
            let most = match rule {
                Rule::TokenBucket { burst, .. } => 500 + burst,
                _ => 500,
            };
            let sent = one + other;
            assert!(
                sent <= most as f64,
                "{rule:?}, seed {seed}: {sent} in ten windows"
            );
        }
    }
}
