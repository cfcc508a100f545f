//! Any bytes as a list of targets, in JSON and in YAML, and as an answer of DNS.
//!
//! `scripts/fuzz 300 targets`
#![no_main]

use headwater::sources::discovery::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
