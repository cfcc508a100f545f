//! Any bytes as a list of targets, in JSON and in YAML, and as an answer of DNS.
//!
//! `cargo +nightly fuzz run targets fuzz/corpus/targets fuzz/seeds/targets`
#![no_main]

use headwater::sources::discovery::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
