//! Any bytes as lines of an access log: JSON, nginx and Envoy, read and counted.
//!
//! `scripts/fuzz 300 logs`
#![no_main]

use headwater::sources::logs::line::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
