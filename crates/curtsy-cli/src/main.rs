//! The curtsy command line.

fn main() {}
