//! Any bytes as replies of a Redis server: on the wire for every reader, and as the text of INFO and CLUSTER NODES.
//!
//! `scripts/fuzz 300 redis_replies`
#![no_main]

use headwater::sources::redis::read_everything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_everything(bytes));
