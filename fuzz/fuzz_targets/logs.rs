//! Any bytes as lines of an access log: JSON, nginx and Envoy, read and counted.
//!
//! `cargo +nightly fuzz run logs fuzz/corpus/logs fuzz/seeds/logs`
#![no_main]

use headwater::sources::logs::line::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
