//! Any bytes as what tells of changes: a line of JSON, a JSON document, the log of git.
//!
//! `scripts/fuzz 300 changes`
#![no_main]

use headwater::sources::changes::decode::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
