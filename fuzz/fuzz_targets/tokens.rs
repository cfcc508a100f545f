//! Any bytes as the stream of a completion, in pieces of a length that the first byte tells.
//!
//! `scripts/fuzz 300 tokens`
#![no_main]

use headwater::sources::probe::read_stream;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_stream(bytes));
