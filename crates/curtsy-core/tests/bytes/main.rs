//! What must hold of any bytes that come from a server: each property on real inputs, on changes of them,
//! and on bytes of any kind. The fuzz targets of `fuzz/` go on from there.

#![allow(clippy::unwrap_used)]

mod mutation;
mod property;
mod seeds;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use mutation::bytes;
use property::{date, rate_limit, robots, signal};
use seeds::{DATE, RATE_LIMIT, ROBOTS, SIGNAL, Seeds};

/// A fuzz target: its name, the inputs that it begins with, and its property.
type Target = (&'static str, &'static Seeds, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("signal", &SIGNAL, signal::holds),
    ("rate_limit", &RATE_LIMIT, rate_limit::holds),
    ("date", &DATE, date::holds),
    ("robots", &ROBOTS, robots::holds),
];

#[test]
fn every_property_holds_of_the_real_inputs() {
    for (target, seeds, holds) in TARGETS {
        assert!(seeds.len() >= 20, "{target}: {} seeds", seeds.len());
        for seed in seeds.iter() {
            holds(seed);
        }
    }
}

/// For people and for `./test`, which lets the fuzz targets begin with them.
#[test]
#[ignore = "writes fuzz/corpus, with which the fuzz targets begin"]
fn seeds_are_written() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, seeds, _) in TARGETS {
        let dir = corpus.join(target);
        fs::create_dir_all(&dir).unwrap();
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(dir.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_response_is_read_within_bounds_and_makes_nothing_faster(bytes in bytes(&SIGNAL)) {
        signal::holds(&bytes);
    }

    #[test]
    fn any_structured_field_reads_alike_on_one_line_and_on_several(bytes in bytes(&RATE_LIMIT)) {
        rate_limit::holds(&bytes);
    }

    #[test]
    fn any_time_is_nearer_when_it_is_received_later(bytes in bytes(&DATE)) {
        date::holds(&bytes);
    }

    #[test]
    fn any_robots_txt_is_read_alike_each_time_and_names_the_line_of_its_verdict(bytes in bytes(&ROBOTS)) {
        robots::holds(&bytes);
    }
}
