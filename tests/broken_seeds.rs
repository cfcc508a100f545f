//! What fuzzing begins with, broken in every way that bytes get broken, through each decoder of what comes from outside: a
//! fuzzer for the stable compiler. `PROPTEST_CASES=1000000 cargo test --test broken_seeds` looks for longer.

use std::path::Path;
use std::sync::LazyLock;

use headwater::imports::{FORMATS, Import, MOST_CALLS};
use headwater::sources::metrics::exposition::{Format, decode};
use headwater::sources::{changes, discovery, logs, probe, redis};
use proptest::prelude::*;
use proptest::sample::Index;

/// A decoder of any bytes.
type Decoder = fn(&[u8]);

/// Folders of seeds, with the decoder that they are for.
const DECODERS: &[(&str, Decoder)] = &[
    ("changes", changes::decode::read_everything),
    ("exposition", pages),
    ("imports", graphs),
    ("logs", logs::line::read_everything),
    ("redis_replies", redis::read_everything),
    ("targets", discovery::read_everything),
    ("tokens", probe::read_stream),
];

fn pages(bytes: &[u8]) {
    for format in [None, Some(Format::OpenMetrics)] {
        let page = decode(bytes, format);
        assert!(page.problems.first.iter().all(|problem| (1..=page.lines.max(1)).contains(&problem.line)));
    }
}

fn graphs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for format in FORMATS {
        assert!(Import::of(format, &text).calls.len() <= MOST_CALLS);
    }
}

/// One way to break bytes.
#[derive(Clone, Debug)]
enum Damage {
    /// One byte is another one.
    Change(Index, u8),
    /// A piece is lost.
    Lose(Index, Index),
    /// A piece comes again, as often.
    Repeat(Index, Index, u8),
    /// Bytes that mean something to some decoder stand there.
    Insert(Index, &'static [u8]),
    /// The rest is that of another seed.
    GoOnAs(Index, Index),
}

/// What means something to decoders.
const TELLING: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xc0",
    b"\xc0\x0c",
    b"&a ",
    b"*a",
    b"- ",
    b"!!str ",
    b"1e999",
    b"-1",
    b"18446744073709551616",
    b"NaN",
    b"null",
    b"data: ",
    b"[DONE]",
    b"\xf0\x9f\x98",
    b"\xe2\x80\xae",
    b"$-1\r\n",
    b"*-1\r\n",
    b"\x1b[2J",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Change(at, byte)),
        (at(), at()).prop_map(|(from, to)| Damage::Lose(from, to)),
        (at(), at(), 1..40_u8).prop_map(|(from, to, times)| Damage::Repeat(from, to, times)),
        (at(), proptest::sample::select(TELLING)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), at()).prop_map(|(at, other)| Damage::GoOnAs(at, other)),
    ]
}

/// The longest that seeds grow to, in bytes: what is longer is cut.
const LONGEST: usize = 64 * 1024;

fn broken(seeds: &[Vec<u8>], first: Index, all: &[Damage]) -> Vec<u8> {
    let mut bytes = first.get(seeds).clone();
    for damage in all {
        let place = |at: &Index| at.index(bytes.len() + 1);
        let piece = |one: &Index, other: &Index| {
            let (one, other) = (place(one), place(other));
            one.min(other)..one.max(other)
        };
        match damage {
            Damage::Change(at, byte) => {
                let at = place(at);
                if let Some(old) = bytes.get_mut(at) {
                    *old = *byte;
                }
            }
            Damage::Lose(from, to) => drop(bytes.drain(piece(from, to))),
            Damage::Repeat(from, to, times) => {
                let piece = piece(from, to);
                let again = bytes[piece.clone()].repeat(usize::from(*times));
                bytes.splice(piece.end..piece.end, again);
            }
            Damage::Insert(at, inserted) => {
                let at = place(at);
                bytes.splice(at..at, inserted.iter().copied());
            }
            Damage::GoOnAs(at, other) => {
                let at = place(at);
                let other = other.get(seeds);
                bytes.truncate(at);
                bytes.extend(&other[at.min(other.len())..]);
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// The seeds of a decoder.
fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(folder);
    let files = std::fs::read_dir(folder).expect("there are seeds");
    let seeds = files.map(|file| std::fs::read(file.expect("it is there").path()).expect("it can be read"));
    let seeds: Vec<Vec<u8>> = seeds.collect();
    assert!(!seeds.is_empty());
    seeds
}

/// Each decoder with its seeds.
static SEEDED: LazyLock<Vec<(Decoder, Vec<Vec<u8>>)>> =
    LazyLock::new(|| DECODERS.iter().map(|(folder, decode)| (*decode, seeds(folder))).collect());

proptest! {
    #[test]
    fn every_decoder_survives_what_its_seeds_become(
        first in any::<Index>(),
        all in proptest::collection::vec(damage(), 1..12),
    ) {
        for (decode, seeds) in &*SEEDED {
            decode(&broken(seeds, first, &all));
        }
    }
}
