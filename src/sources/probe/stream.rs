//! Reads the stream of a completion: server-sent events with a piece of JSON each.

use headwater_engine::RemoteText;
use serde_json::Value;

/// An event that is longer is left out.
const LONGEST_EVENT: usize = 64 * 1024;

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is a token, or the text has ended with none to show.
    Token,
    /// Nothing more comes.
    Done,
    /// The server gave up, with its words.
    Failed(RemoteText),
}

/// A stream of events in whatever pieces it comes; holds no more than one event of 64 KiB.
#[derive(Debug, Default)]
pub struct TokenStream {
    line: Vec<u8>,
    data: Vec<u8>,
    is_after_return: bool,
    is_too_long: bool,
}

impl TokenStream {
    /// Takes the next piece and says what has become known.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Told> {
        let mut told = vec![];
        for byte in bytes {
            // A line ends with \n, \r or both.
            let is_second = std::mem::replace(&mut self.is_after_return, *byte == b'\r') && *byte == b'\n';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => told.extend(self.end_line()),
                _ if self.line.len() >= LONGEST_EVENT => self.is_too_long = true,
                _ => self.line.push(*byte),
            }
        }
        told
    }

    fn end_line(&mut self) -> Option<Told> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let is_too_long = std::mem::take(&mut self.is_too_long);
            return (!data.is_empty() && !is_too_long).then(|| meaning(&data)).flatten();
        }
        let data = line.strip_prefix(b"data:")?;
        if self.data.len() + data.len() >= LONGEST_EVENT {
            self.is_too_long = true;
        } else {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

/// Reads any bytes as a stream, at once and in pieces, and checks what must hold whatever they are: for the fuzzer and
/// its seeds. The first byte says how long the pieces are.
///
/// # Panics
/// When it does not hold.
pub fn read_stream(bytes: &[u8]) {
    let (length, text) =
        bytes.split_first().map_or((1, bytes), |(first, rest)| (usize::from(*first) + 1, rest));
    let at_once = TokenStream::default().push(text);
    let mut stream = TokenStream::default();
    let mut in_pieces = vec![];
    for piece in text.chunks(length) {
        in_pieces.extend(stream.push(piece));
        assert!(stream.line.len() <= LONGEST_EVENT && stream.data.len() <= LONGEST_EVENT);
    }
    assert_eq!(in_pieces, at_once, "pieces do not matter");
    for told in &at_once {
        let Told::Failed(words) = told else { continue };
        assert_eq!(
            RemoteText::new(words.as_str()).as_str(),
            words.as_str(),
            "cleaning again changes nothing"
        );
    }
    // Whatever came before, an end is seen.
    assert_eq!(stream.push(b"\n\ndata: [DONE]\n\n").last(), Some(&Told::Done));
}

/// What the data of one event mean; `None` for what says nothing of tokens, such as who speaks.
fn meaning(data: &[u8]) -> Option<Told> {
    if data.trim_ascii() == b"[DONE]" {
        return Some(Told::Done);
    }
    let event: Value = serde_json::from_slice(data).ok()?;
    match event.get("error") {
        None | Some(Value::Null) => {}
        Some(error) => {
            let words = error.get("message").unwrap_or(error);
            let words = words.as_str().map_or_else(|| words.to_string(), str::to_owned);
            return Some(Told::Failed(RemoteText::new(&words)));
        }
    }
    let choices = event.get("choices").and_then(Value::as_array)?;
    let has_token = choices.iter().any(|choice| {
        let is_text =
            |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        let delta = choice.get("delta");
        let of_delta = |key| is_text(delta.and_then(|delta| delta.get(key)));
        // A first token may be half a character, or the end itself: then there is an end and no text.
        is_text(choice.get("text"))
            || ["content", "reasoning_content", "reasoning", "refusal"].into_iter().any(of_delta)
            || is_text(choice.get("finish_reason"))
    });
    has_token.then_some(Told::Token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> Vec<Told> {
        TokenStream::default().push(text.as_bytes())
    }

    #[test]
    fn a_role_is_no_token_and_text_thoughts_and_an_end_are() {
        let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
        assert_eq!(told(role), []);
        for choice in [
            "{\"delta\":{\"content\":\"Yes\"}}",
            "{\"delta\":{\"reasoning_content\":\"Hm\"}}",
            "{\"text\":\" yes\"}",
            "{\"text\":\"\",\"finish_reason\":\"length\"}",
        ] {
            let event = format!("event: x\ndata: {{\"choices\":[{choice}]}}\n\n");
            assert_eq!(told(&event), [Told::Token], "{choice}");
        }
        assert_eq!(told("data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n"), []);
    }

    #[test]
    fn ends_and_errors_are_told() {
        assert_eq!(told(": ping\n\ndata:[DONE]\r\n\r\n"), [Told::Done]);
        let failed = |words: &str| [Told::Failed(RemoteText::new(words))];
        assert_eq!(told("data: {\"error\":{\"message\":\"too long\",\"code\":400}}\n\n"), failed("too long"));
        assert_eq!(told("data: {\"error\":\"out of memory\"}\n\n"), failed("out of memory"));
        assert_eq!(told("data: no json\n\ndata: [DONE]\n\n"), [Told::Done]);
    }

    #[test]
    fn an_event_without_an_end_stays_small_and_costs_no_other() {
        let mut stream = TokenStream::default();
        for _ in 0..100 {
            assert_eq!(stream.push(&[b'x'; 4_096]), []);
        }
        assert!(stream.line.len() <= LONGEST_EVENT);
        assert_eq!(stream.push(b"\n\ndata: [DONE]\n\n"), [Told::Done]);
    }

    #[test]
    fn every_seed_of_the_fuzzer_is_digested() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/tokens");
        let mut seen = vec![];
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            (0..=bytes.len()).for_each(|end| read_stream(&bytes[..end]));
            seen.extend(TokenStream::default().push(&bytes[1..]));
        }
        let has = |wanted: fn(&Told) -> bool| seen.iter().any(wanted);
        assert!(has(|told| *told == Told::Token) && has(|told| *told == Told::Done), "{seen:?}");
        assert!(has(|told| matches!(told, Told::Failed(_))), "{seen:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read_stream(&bytes);
        }

        #[test]
        fn pieces_do_not_matter_and_nothing_panics(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'd'), any::<u8>()], 0..200),
            at in 0usize..200,
        ) {
            let text = b"data: {\"choices\":[{\"text\":\"a\"}]}\r\n\r\ndata: [DONE]\n\n";
            let whole: Vec<u8> = [&bytes[..], b"\n\n", text].concat();
            let (first, second) = whole.split_at(at.min(whole.len()));
            let mut in_pieces = TokenStream::default();
            let pieces = [in_pieces.push(first), in_pieces.push(second)].concat();
            let at_once = TokenStream::default().push(&whole);
            prop_assert!(at_once.ends_with(&[Told::Token, Told::Done]));
            prop_assert_eq!(pieces, at_once);
        }
    }
}
