//! Feeds `existing`; see `crates/reads/src/fuzz.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forebay_reads::fuzz::feed("existing", bytes));
