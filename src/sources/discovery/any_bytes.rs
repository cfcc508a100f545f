//! Any bytes through every decoder of discovery: what fuzzing and its corpus are put through.

use super::Naming;
use super::dns::Record;
use super::dns::message::{SHORTEST_QUESTION, answer};
use super::list::{Syntax, groups};
use super::target::page;

/// How far into a message a question is looked for, where any bytes are read.
const DNS_QUESTION: usize = 40;

/// Reads any bytes as a list of targets in every syntax, each target with its labels, and as an answer of DNS.
pub fn read_everything(bytes: &[u8]) {
    let naming = Naming { component_label: Some("component".to_owned()), ..Naming::default() };
    for syntax in [Syntax::Json, Syntax::Yaml] {
        for group in groups(bytes, syntax).unwrap_or_default() {
            for address in &group.targets {
                let _ = page(&naming, address, &group.labels);
            }
        }
    }
    for record in [Record::A, Record::Aaaa, Record::Srv] {
        // The question that would have this answer, where there is one.
        let asked: Vec<u8> = bytes.iter().take(DNS_QUESTION).copied().collect();
        for end in SHORTEST_QUESTION..=asked.len() {
            let _ = answer(bytes, &asked[..end], record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::discovery::dns::message::{Answer, Found, question};

    #[test]
    fn the_seeds_of_fuzzing_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/targets");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            read_everything(&std::fs::read(entry.path()).unwrap());
            count += 1;
        }
        assert!(count >= 5, "{count}");
        let srv = std::fs::read(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/targets/srv.dns"),
        );
        let asked = question(7, "_m._tcp.ranker", Record::Srv).unwrap();
        let told = answer(&srv.unwrap(), &asked, Record::Srv);
        let expected = Found::Service("a.ranker".to_owned(), 8_000);
        assert_eq!(told, Some(Answer::Records { found: vec![expected], odd: 0 }));
    }
}
