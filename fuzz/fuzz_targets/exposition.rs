//! Any bytes as a metrics page: decoded in both formats, mapped, explained.
//!
//! `scripts/fuzz 300 exposition`
#![no_main]

use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::{Format, decode};
use headwater::sources::metrics::mapping::{Mapper, Target, explain};
use headwater_engine::{Kind, Subject};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let target = Target::new(&Subject::component(Kind::Service, "x"), "h:1");
    for format in [None, Some(Format::Text), Some(Format::OpenMetrics)] {
        let page = decode(bytes, format);
        for problem in &page.problems.first {
            assert!((1..=page.lines.max(1)).contains(&problem.line));
        }
        let mapping = Mapper::new(Dialects::built_in(), target.clone(), None).map(&page);
        assert_eq!(explain(Dialects::built_in(), &page, &mapping).len(), page.families.len());
    }
});
