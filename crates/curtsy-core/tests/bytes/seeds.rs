//! Real inputs of each property: the corpora in `testdata/`, in the bytes that the properties read.

use std::sync::LazyLock;

use serde_json::Value;

const RESPONSES: [&str; 2] = [
    include_str!("../../testdata/dialects.jsonl"),
    include_str!("../../testdata/dialects-more.jsonl"),
];
const FILES: &str = include_str!("../../testdata/robots.jsonl");

pub(crate) type Seeds = LazyLock<Vec<Vec<u8>>>;

pub(crate) static SIGNAL: Seeds =
    LazyLock::new(|| responses().map(|case| response(&case)).collect());

pub(crate) static RATE_LIMIT: Seeds = LazyLock::new(|| {
    let seed = |case: Value| {
        let lines = ["ratelimit-policy", "ratelimit"].map(|name| field(&case, name));
        let is_there = lines.iter().any(Option::is_some);
        is_there.then(|| lines.map(Option::unwrap_or_default).join("\n").into_bytes())
    };
    responses().filter_map(seed).collect()
});

pub(crate) static DATE: Seeds = LazyLock::new(|| {
    let seeds = |case: Value| {
        let date = field(&case, "date").unwrap_or_default();
        let times = fields(&case)
            .filter(|(name, _)| name == "retry-after" || name.contains("reset"))
            .map(|(_, value)| format!("{value}\n{date}").into_bytes());
        times.collect::<Vec<_>>()
    };
    responses().flat_map(seeds).collect()
});

/// Those of which a change is likely to change something.
pub(crate) static ROBOTS: Seeds = LazyLock::new(|| {
    let cases = FILES
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    cases
        .filter_map(|case: Value| {
            let file = case["robots"].as_str().filter(|file| file.len() < 4096)?;
            let path = case["url"].as_str()?.splitn(4, '/').nth(3)?;
            let user_agent = case["user_agent"].as_str()?;
            Some(format!("{user_agent}\n/{path}\n{file}").into_bytes())
        })
        .collect()
});

fn responses() -> impl Iterator<Item = Value> {
    let lines = RESPONSES.iter().flat_map(|file| file.lines());
    lines.map(|line| serde_json::from_str(line).unwrap())
}

fn response(case: &Value) -> Vec<u8> {
    let received = (case["now"].as_f64().unwrap() * 1e6).round() as u64;
    let mut text = format!("{} {received}", case["status"]);
    for (name, value) in fields(case) {
        text += &format!("\n{name}: {value}");
    }
    if let Some(body) = case["body"].as_str() {
        text += &format!("\n\n{body}");
    }
    text.into_bytes()
}

/// The field lines, names in lower case.
fn fields(case: &Value) -> impl Iterator<Item = (String, &str)> {
    let pairs = case["headers"].as_array().unwrap().iter();
    pairs.map(|pair| {
        let name = pair[0].as_str().unwrap().to_ascii_lowercase();
        (name, pair[1].as_str().unwrap())
    })
}

fn field<'c>(case: &'c Value, name: &str) -> Option<&'c str> {
    fields(case)
        .find(|(other, _)| other == name)
        .map(|(_, value)| value)
}
