//! Any bytes as an import of who calls whom, in every format.
//!
//! `scripts/fuzz 300 imports`
#![no_main]

use headwater::imports::{FORMATS, Import, MOST_CALLS};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // To YAML and JSON with it a carriage return alone ends a line as well.
    let lines = text.split(['\n', '\r']).count();
    for format in FORMATS {
        let import = Import::of(format, &text);
        assert!(import.calls.len() <= MOST_CALLS);
        for problem in &import.problems {
            assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem:?}");
        }
    }
});
