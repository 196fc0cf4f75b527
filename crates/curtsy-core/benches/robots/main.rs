//! What it costs to read a robots.txt and to ask it, beside the crate robotxt on the same files.
//!
//! Aims, as geometric means over the files: parse at least 140 MB/s and at least robotxt's figure, one
//! match at most 1.3 µs and at most robotxt's; no file over 50 ms; the two hostile ones under 100 µs a
//! match. The table at the end has all of it; criterion keeps the history of each.
#![expect(clippy::print_stdout, reason = "a bench tells its figures")]

mod shapes;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use curtsy_core::robots::{ProductToken, Robots};
use shapes::Shape;

const AGENT: &str = "WicketBot";

fn main() {
    let shapes = shapes::all();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    bench_parse(&mut criterion, &shapes);
    bench_match(&mut criterion, &shapes);
    criterion.final_summary();
    print_table(&shapes);
}

fn bench_parse(criterion: &mut Criterion, shapes: &[Shape]) {
    let token = ProductToken::from_user_agent(AGENT);
    let mut group = criterion.benchmark_group("robots parse");
    for shape in shapes {
        group.throughput(Throughput::Bytes(shape.body.len() as u64));
        group.bench_with_input(
            BenchmarkId::new("curtsy", shape.name),
            shape,
            |bencher, shape| {
                bencher.iter(|| Robots::parse(&shape.body, &token));
            },
        );
        group.bench_with_input(
            BenchmarkId::new("robotxt", shape.name),
            shape,
            |bencher, shape| {
                bencher.iter(|| robotxt::Robots::parse(&shape.body, AGENT));
            },
        );
    }
}

fn bench_match(criterion: &mut Criterion, shapes: &[Shape]) {
    let token = ProductToken::from_user_agent(AGENT);
    let mut group = criterion.benchmark_group("robots match");
    for shape in shapes {
        group.throughput(Throughput::Elements(shape.paths.len() as u64));
        let ours = Robots::parse(&shape.body, &token);
        let theirs = robotxt::Robots::parse(&shape.body, AGENT);
        group.bench_with_input(
            BenchmarkId::new("curtsy", shape.name),
            shape,
            |bencher, shape| {
                bencher.iter(|| ask(shape, |path| ours.verdict_on_path(path.as_bytes()).allowed));
            },
        );
        group.bench_with_input(
            BenchmarkId::new("robotxt", shape.name),
            shape,
            |bencher, shape| {
                bencher.iter(|| ask(shape, |path| theirs.is_allowed(path)));
            },
        );
    }
}

fn ask(shape: &Shape, allowed: impl Fn(&str) -> bool) -> usize {
    shape
        .paths
        .iter()
        .filter(|path| allowed(black_box(path)))
        .count()
}

fn print_table(shapes: &[Shape]) {
    println!(
        "\n{:28} {:>9} {:>15} {:>19}",
        "", "parse", "parse, MB/s", "one match, ns"
    );
    println!(
        "{:28} {:>9} {:>7} {:>7} {:>9} {:>9}",
        "file", "µs", "curtsy", "robotxt", "curtsy", "robotxt"
    );
    let token = ProductToken::from_user_agent(AGENT);
    let mut sums = [0.0; 4];
    for shape in shapes {
        let ours = Robots::parse(&shape.body, &token);
        let theirs = robotxt::Robots::parse(&shape.body, AGENT);
        let (octets, paths) = (shape.body.len() as f64, shape.paths.len() as f64);
        let parse = least(|| Robots::parse(&shape.body, &token));
        let figures = [
            octets / parse * 1e3,
            octets / least(|| robotxt::Robots::parse(&shape.body, AGENT)) * 1e3,
            least(|| ask(shape, |path| ours.verdict_on_path(path.as_bytes()).allowed)) / paths,
            least(|| ask(shape, |path| theirs.is_allowed(path))) / paths,
        ];
        let [parse_ours, parse_theirs, match_ours, match_theirs] = figures;
        println!(
            "{:28} {:9.1} {parse_ours:7.0} {parse_theirs:7.0} {match_ours:9.0} {match_theirs:9.0}",
            shape.name,
            parse / 1e3,
        );
        sums.iter_mut()
            .zip(figures)
            .for_each(|(sum, figure)| *sum += figure.ln());
    }
    let [parse_ours, parse_theirs, match_ours, match_theirs] =
        sums.map(|sum| (sum / shapes.len() as f64).exp());
    println!(
        "{:38} {parse_ours:7.0} {parse_theirs:7.0} {match_ours:9.0} {match_theirs:9.0}",
        "geometric mean"
    );
}

/// The least time of many, in nanoseconds: on a machine that others use, the rest is their doing.
#[expect(clippy::disallowed_methods, reason = "a bench looks at the clock")]
fn least<T>(run: impl Fn() -> T) -> f64 {
    let (begin, mut least) = (Instant::now(), f64::MAX);
    while begin.elapsed() < Duration::from_millis(50) {
        let runs = (20_000.0 / least).clamp(1.0, 1_000.0) as u32;
        let start = Instant::now();
        (0..runs).for_each(|_| {
            black_box(run());
        });
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(runs));
    }
    least
}
