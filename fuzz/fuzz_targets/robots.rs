#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| curtsy_fuzz::robots(bytes));
