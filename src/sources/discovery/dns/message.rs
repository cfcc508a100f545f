//! Messages of DNS (RFC 1035; SRV: RFC 2782; longer answers: RFC 6891; no such record: RFC 2308), as far as a question
//! for addresses or services needs them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kinds of records that name targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Hosts with ports.
    Srv,
}

impl Record {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Srv => "SRV",
        }
    }

    fn number(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Aaaa => 28,
            Self::Srv => 33,
        }
    }
}

/// What one record says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// An address.
    Address(IpAddr),
    /// A host and a port.
    Service(String, u16),
}

/// What an answer comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The records of the kind that was asked for, of which there is at least one.
    Records {
        /// What they say.
        found: Vec<Found>,
        /// How many of them name no host that could be asked.
        odd: usize,
    },
    /// There is no such name, or it has no such record.
    NoSuchRecord,
    /// Neither a record nor the word that there is none, as of a server that knows nothing of the name.
    Unsaid,
    /// It did not fit and must be asked for over TCP.
    Truncated,
    /// The server cannot say: its code.
    Failed(u8),
}

impl Answer {
    /// Whether a server said that it does not understand the question, as old ones say of [`with_longer_answers`].
    pub(super) fn is_of_an_old_server(&self) -> bool {
        matches!(self, Self::Failed(FORMAT_ERROR | NOT_IMPLEMENTED))
    }
}

const INTERNET: u16 = 1;
const RECURSION_DESIRED: u16 = 0x0100;
const IS_RESPONSE: u16 = 0x8000;
const IS_TRUNCATED: u16 = 0x0200;
const FORMAT_ERROR: u8 = 1;
const NO_SUCH_NAME: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;
const HEADER: usize = 12;

/// The kind of record by which a zone says that it is the one that knows.
const START_OF_AUTHORITY: u16 = 6;

/// What asks for answers that are longer than the 512 bytes of old: a record of the root's (one byte), of kind OPT, whose
/// class is the longest answer in bytes; no option follows. What is longer than 1232 may be broken up on the way and lost.
const LONGEST_DATAGRAM: u16 = 1_232;
const OPT: u16 = 41;
const ADDITIONAL_COUNT: std::ops::Range<usize> = 10..12;

/// The shortest question, in bytes: a header, a name of one label and what is asked.
pub(in crate::sources::discovery) const SHORTEST_QUESTION: usize = HEADER + 7;

/// The longest name, in bytes as it is sent.
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;

/// A question; `None` where the name cannot be one.
pub fn question(id: u16, name: &str, record: Record) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    for word in [id, RECURSION_DESIRED, 1, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    for label in name.trim_end_matches('.').split('.') {
        if label.is_empty() || label.len() > LONGEST_LABEL {
            return None;
        }
        bytes.push(u8::try_from(label.len()).ok()?);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    if bytes.len() - HEADER > LONGEST_NAME {
        return None;
    }
    for word in [record.number(), INTERNET] {
        bytes.extend(word.to_be_bytes());
    }
    Some(bytes)
}

/// The same question from somebody who takes longer answers.
pub fn with_longer_answers(question: &[u8]) -> Vec<u8> {
    let mut bytes = question.to_vec();
    if let Some(count) = bytes.get_mut(ADDITIONAL_COUNT) {
        count.copy_from_slice(&1_u16.to_be_bytes());
    }
    bytes.push(0);
    for word in [OPT, LONGEST_DATAGRAM, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes
}

/// Reads the answer to a question; `None` where it is no answer to it, which may be anybody's.
pub fn answer(bytes: &[u8], question: &[u8], record: Record) -> Option<Answer> {
    let mut reader = Reader { bytes, at: 0 };
    let id = reader.word()?;
    let flags = reader.word()?;
    let counts = [reader.word()?, reader.word()?, reader.word()?, reader.word()?];
    let [questions, answers, authorities, _] = counts;
    if flags & IS_RESPONSE == 0 || id.to_be_bytes() != question.get(..2)? || questions > 1 {
        return None;
    }
    if questions == 1 {
        let asked = question.get(HEADER..)?;
        let echoed = bytes.get(HEADER..HEADER + asked.len())?;
        // Some servers give names back in another case.
        if !echoed.eq_ignore_ascii_case(asked) {
            return None;
        }
        reader.at = HEADER + asked.len();
    }
    let code = (flags & 0x000f) as u8;
    match code {
        NO_SUCH_NAME => return Some(Answer::NoSuchRecord),
        0 => {}
        code => return Some(Answer::Failed(code)),
    }
    if flags & IS_TRUNCATED != 0 {
        return Some(Answer::Truncated);
    }
    let (mut found, mut odd, mut none) = (vec![], 0, 0);
    for _ in 0..answers {
        // The owner may be another name, that of an alias; whoever asked recursively wants the end of the chain.
        let (kind, length) = reader.head_of_record()?;
        let end = reader.at + length;
        if kind == Some(record.number()) {
            match reader.record(record, length) {
                Some(Some(one)) => found.push(one),
                Some(None) => none += 1,
                None => odd += 1,
            }
        }
        reader.at = end;
    }
    if found.is_empty() && odd == 0 {
        let mut is_said = none > 0;
        for _ in 0..authorities {
            let (kind, length) = reader.head_of_record()?;
            is_said |= kind == Some(START_OF_AUTHORITY);
            reader.at += length;
        }
        return Some(if is_said { Answer::NoSuchRecord } else { Answer::Unsaid });
    }
    found.sort();
    found.dedup();
    Some(Answer::Records { found, odd })
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*bytes)
    }

    /// The kind of the next record, where it is one of the Internet, and the length of what it says, which follows.
    fn head_of_record(&mut self) -> Option<(Option<u16>, usize)> {
        self.skip_name()?;
        let (kind, class) = (self.word()?, self.word()?);
        self.skip(4)?;
        let length = usize::from(self.word()?);
        self.at.checked_add(length).filter(|end| *end <= self.bytes.len())?;
        Some(((class == INTERNET).then_some(kind), length))
    }

    /// What a record of this kind says; `Some(None)` where it says that there is no such service, `None` where it names no
    /// host that could be asked.
    fn record(&mut self, record: Record, length: usize) -> Option<Option<Found>> {
        Some(match (record, length) {
            (Record::A, 4) => Some(Found::Address(IpAddr::V4(Ipv4Addr::from(self.array::<4>()?)))),
            (Record::Aaaa, 16) => Some(Found::Address(IpAddr::V6(Ipv6Addr::from(self.array::<16>()?)))),
            (Record::Srv, _) => {
                self.skip(4)?;
                let port = self.word()?;
                let host = self.name()?;
                match (host.is_empty(), port) {
                    (true, _) => None,
                    (false, 0) => return None,
                    (false, port) => Some(Found::Service(host, port)),
                }
            }
            _ => return None,
        })
    }

    /// Goes past a name.
    fn skip_name(&mut self) -> Option<()> {
        loop {
            match self.byte()? {
                0 => return Some(()),
                length if length >= 0xc0 => return self.skip(1),
                length if length > 0x3f => return None,
                length => self.skip(usize::from(length))?,
            }
        }
    }

    /// A name as text, without its last dot. Names may point back to where they stand already.
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        let mut place = self.at;
        // Each jump goes further back, so there is an end to them.
        let mut earliest = place;
        loop {
            let length = *self.bytes.get(place)?;
            place += 1;
            if length == 0 {
                break;
            }
            if length >= 0xc0 {
                let low = *self.bytes.get(place)?;
                place = usize::from(length & 0x3f) << 8 | usize::from(low);
                if place >= earliest {
                    return None;
                }
                earliest = place;
                continue;
            }
            if length > 0x3f {
                return None;
            }
            let end = place + usize::from(length);
            let label = self.bytes.get(place..end)?;
            // Hosts are made of these; anything else would mean something in an address.
            if !label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            name.extend(label.iter().map(|byte| char::from(*byte)));
            if name.len() > LONGEST_NAME {
                return None;
            }
            place = end;
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer with at least one record.
    fn records<const N: usize>(found: [Found; N], odd: usize) -> Option<Answer> {
        Some(Answer::Records { found: found.into(), odd })
    }

    /// An answer to this question with these records, the owner's name pointing back to the question.
    fn answered(question: &[u8], flags: u16, records: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = question.to_vec();
        bytes[2..4].copy_from_slice(&(IS_RESPONSE | flags).to_be_bytes());
        bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        for (kind, data) in records {
            bytes.extend([0xc0, 12]);
            bytes.extend(kind.to_be_bytes());
            bytes.extend([0, 1, 0, 0, 0, 30]);
            bytes.extend((data.len() as u16).to_be_bytes());
            bytes.extend(*data);
        }
        bytes
    }

    #[test]
    fn addresses_are_read_and_aliases_on_the_way_are_passed_over() {
        let asked = question(7, "ranker.prod.", Record::A).unwrap();
        let alias = [1, b'x', 0xc0, 12];
        let told = answered(&asked, 0, &[(5, &alias), (1, &[10, 0, 0, 6]), (1, &[10, 0, 0, 5])]);
        let expected = ["10.0.0.5", "10.0.0.6"].map(|text| Found::Address(text.parse().unwrap()));
        assert_eq!(answer(&told, &asked, Record::A), records(expected, 0));
        let asked = question(7, "ranker", Record::Aaaa).unwrap();
        let told = answered(&asked, 0, &[(28, &Ipv6Addr::LOCALHOST.octets())]);
        let expected = [Found::Address("::1".parse().unwrap())];
        assert_eq!(answer(&told, &asked, Record::Aaaa), records(expected, 0));
    }

    #[test]
    fn services_have_hosts_and_ports_and_a_dot_is_none() {
        let asked = question(9, "_http._tcp.ranker", Record::Srv).unwrap();
        // The host 'a' below the last label of the question, which begins at byte 23.
        let service = [0, 0, 0, 0, 0x1f, 0x40, 1, b'a', 0xc0, 23];
        let none = [0, 0, 0, 0, 0x1f, 0x40, 0];
        let told = answered(&asked, 0, &[(33, &service), (33, &none)]);
        let expected = || [Found::Service("a.ranker".to_owned(), 8_000)];
        assert_eq!(answer(&told, &asked, Record::Srv), records(expected(), 0));
        let told = answered(&asked, 0, &[(33, &none)]);
        assert_eq!(answer(&told, &asked, Record::Srv), Some(Answer::NoSuchRecord));
        // One that nobody could ask costs itself alone.
        let odd = [0, 0, 0, 0, 0x1f, 0x40, 1, b'@', 0];
        let no_port = [0, 0, 0, 0, 0, 0, 1, b'a', 0];
        let told = answered(&asked, 0, &[(33, &odd), (33, &service), (33, &no_port), (33, &[0; 3])]);
        assert_eq!(answer(&told, &asked, Record::Srv), records(expected(), 3));
    }

    #[test]
    fn nothing_is_no_answer_unless_the_zone_says_that_it_is_one() {
        let asked = question(7, "ranker", Record::A).unwrap();
        let alias = [1, b'x', 0xc0, 12];
        for said in [answered(&asked, 0, &[]), answered(&asked, 0, &[(5, &alias)])] {
            assert_eq!(answer(&said, &asked, Record::A), Some(Answer::Unsaid));
            let mut with_authority = said.clone();
            with_authority[8..10].copy_from_slice(&1_u16.to_be_bytes());
            let start = with_authority.len();
            with_authority.extend([0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 30, 0, 1, 0]);
            assert_eq!(answer(&with_authority, &asked, Record::A), Some(Answer::NoSuchRecord));
            // A referral names servers instead.
            with_authority[start + 3] = 2;
            assert_eq!(answer(&with_authority, &asked, Record::A), Some(Answer::Unsaid));
        }
    }

    #[test]
    fn who_takes_longer_answers_says_so_behind_the_same_question() {
        let asked = question(7, "ranker", Record::A).unwrap();
        let longer = with_longer_answers(&asked);
        assert_eq!(longer[..10], asked[..10]);
        assert_eq!(longer[HEADER..asked.len()], asked[HEADER..]);
        assert_eq!(longer[10..12], [0, 1]);
        assert_eq!(longer[asked.len()..], [0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]);
        // The answer repeats the question alone.
        let told = answered(&asked, 0, &[(1, &[10, 0, 0, 5])]);
        assert_eq!(
            answer(&told, &asked, Record::A),
            records([Found::Address("10.0.0.5".parse().unwrap())], 0)
        );
        assert!(Answer::Failed(1).is_of_an_old_server() && !Answer::Failed(2).is_of_an_old_server());
    }

    #[test]
    fn what_is_not_the_answer_is_not_taken_for_one() {
        let asked = question(9, "ranker", Record::A).unwrap();
        let right = answered(&asked, 0, &[(1, &[10, 0, 0, 5])]);
        let mut other_id = right.clone();
        other_id[0] ^= 1;
        assert_eq!(answer(&other_id, &asked, Record::A), None);
        let mut other_name = right.clone();
        other_name[14] = b'x';
        assert_eq!(answer(&other_name, &asked, Record::A), None);
        assert_eq!(answer(&asked, &asked, Record::A), None, "a question is no answer");
        for cut in 0..right.len() {
            assert_eq!(answer(&right[..cut], &asked, Record::A), None, "{cut}");
        }
        assert_eq!(answer(&answered(&asked, 3, &[]), &asked, Record::A), Some(Answer::NoSuchRecord));
        assert_eq!(answer(&answered(&asked, 2, &[]), &asked, Record::A), Some(Answer::Failed(2)));
        assert_eq!(answer(&answered(&asked, IS_TRUNCATED, &[]), &asked, Record::A), Some(Answer::Truncated));
    }

    #[test]
    fn a_name_that_points_at_itself_or_means_something_in_an_address_is_left_out() {
        let asked = question(9, "ranker", Record::Srv).unwrap();
        let own = (asked.len() + 12 + 6) as u8;
        for host in [&[0xc0, own][..], &[1, b'@', 0], &[0x40, 0], &[3, b'a']] {
            let service = [&[0, 0, 0, 0, 0x1f, 0x40][..], host].concat();
            assert_eq!(
                answer(&answered(&asked, 0, &[(33, &service)]), &asked, Record::Srv),
                records([], 1),
                "{host:?}"
            );
        }
    }

    #[test]
    fn a_name_that_cannot_be_sent_is_no_question() {
        for name in ["", ".", "a..b", &"a".repeat(64), &"abcdefgh.".repeat(40)] {
            assert_eq!(question(1, name, Record::A), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), srv in any::<bool>()) {
            let record = if srv { Record::Srv } else { Record::A };
            let asked = question(1, "a.b", record).unwrap();
            let _ = answer(&bytes, &asked, record);
            // Far enough to meet records.
            if bytes.len() > asked.len() {
                bytes[..asked.len()].copy_from_slice(&asked);
                bytes[2..4].copy_from_slice(&IS_RESPONSE.to_be_bytes());
                bytes[7] = 9;
                let _ = answer(&bytes, &asked, record);
            }
        }
    }
}
