//! Real inputs with a few changes, and bytes of any kind.

use proptest::prelude::*;

use crate::seeds::Seeds;

/// A change to one line of an input.
#[derive(Clone, Debug)]
enum Change {
    Drop,
    Repeat,
    /// The first number of its value, times this.
    Scale(f64),
    /// This byte in place of another.
    Corrupt(usize, u8),
    /// Nothing from here on.
    Cut(usize),
    /// These bytes as its value.
    Junk(Vec<u8>),
    /// A line of another input after it.
    Foreign(usize),
    /// The value of a line of another input.
    ForeignValue(usize),
}

/// Mostly inputs of the corpora with up to four changes, and bytes without any likeness to them.
pub(crate) fn bytes(seeds: &'static Seeds) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<usize>(), change()), 0..=4);
    let changed = (any::<usize>(), changes).prop_map(|(at, changes)| {
        let mut lines = lines_of(seeds, at);
        for (line, change) in changes {
            apply(&mut lines, line, change, seeds);
        }
        lines.join(&b'\n')
    });
    prop_oneof![
        4 => changed,
        1 => prop::collection::vec(any::<u8>(), 0..400),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let factor = prop::sample::select(vec![-1.0, 0.0, 0.001, 1_000.0, 1e30]);
    prop_oneof![
        Just(Change::Drop),
        Just(Change::Repeat),
        factor.prop_map(Change::Scale),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Corrupt(at, byte)),
        any::<usize>().prop_map(Change::Cut),
        "[ -~\\x80-\\xff]{0,40}".prop_map(|text| Change::Junk(text.into_bytes())),
        any::<usize>().prop_map(Change::Foreign),
        any::<usize>().prop_map(Change::ForeignValue),
    ]
}

fn apply(lines: &mut Vec<Vec<u8>>, at: usize, change: Change, seeds: &Seeds) {
    if lines.is_empty() {
        return;
    }
    let at = at % lines.len();
    let line = &mut lines[at];
    let value = value_of(line);
    match change {
        Change::Drop => {
            lines.remove(at);
        }
        Change::Repeat => {
            let line = line.clone();
            lines.insert(at, line);
        }
        Change::Scale(by) => scale(line, value, by),
        Change::Corrupt(at, byte) => {
            let length = line.len().max(1);
            if let Some(old) = line.get_mut(at % length) {
                *old = byte;
            }
        }
        Change::Cut(at) => line.truncate(at % (line.len() + 1)),
        Change::Junk(junk) => {
            line.truncate(value);
            line.extend(junk);
        }
        Change::Foreign(other) => lines.insert(at + 1, foreign(seeds, other)),
        Change::ForeignValue(other) => {
            let other = foreign(seeds, other);
            line.truncate(value);
            line.extend(&other[value_of(&other)..]);
        }
    }
}

fn lines_of(seeds: &Seeds, at: usize) -> Vec<Vec<u8>> {
    let seed = &seeds[at % seeds.len()];
    seed.split(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// Some line of some input.
fn foreign(seeds: &Seeds, at: usize) -> Vec<u8> {
    let mut lines = lines_of(seeds, at);
    lines.swap_remove(at / seeds.len() % lines.len())
}

/// Where the value of a line begins: after `name: `, or else where the line does.
fn value_of(line: &[u8]) -> usize {
    let mark = line.windows(2).position(|two| two == b": ");
    mark.map_or(0, |at| at + 2)
}

fn scale(line: &mut Vec<u8>, value: usize, by: f64) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = line[value..].iter().position(is_digit) else {
        return;
    };
    let start = value + start;
    let length = line[start..]
        .iter()
        .take_while(|byte| is_digit(byte))
        .count();
    let number = String::from_utf8_lossy(&line[start..start + length]).into_owned();
    let number: f64 = number.parse().unwrap();
    line.splice(
        start..start + length,
        (number * by).to_string().into_bytes(),
    );
}
