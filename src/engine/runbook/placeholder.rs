//! Placeholders in the texts of runbooks, filled from what was found and never invented.

use super::Culprit;
use crate::subject::{Kind, Subject};
use crate::world::machine_of;

/// Every placeholder with what stands in a text while it is not known.
pub static PLACEHOLDERS: &[(&str, &str)] = &[
    ("subject", "the culprit that is still to be named"),
    ("component", "the component that is still to be named"),
    ("shard", "the shard that is still to be named"),
    ("key", "the key that is still to be named"),
    ("node address", "the address that is still to be found"),
    ("host", "the host that is still to be found"),
    ("port", "the port that is still to be found"),
];

/// What placeholders stand for at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    culprit: Option<Culprit>,
}

impl Places {
    /// The places that this culprit fills; none is filled without one.
    pub fn of(culprit: Option<Culprit>) -> Self {
        Self { culprit }
    }

    /// The text with its placeholders filled; what is not known is said to be so.
    pub fn fill(&self, text: &str) -> String {
        let filled: Result<String, std::convert::Infallible> =
            replace(text, |name, unknown| Ok(self.value(name).unwrap_or_else(|| unknown.to_owned())));
        filled.unwrap_or_default()
    }

    /// The command with its placeholders filled, each as one word of a shell. The error says why it cannot be run yet.
    pub fn command(&self, text: &str) -> Result<String, String> {
        replace(text, |name, unknown| match self.value(name) {
            None => Err(unknown.to_owned()),
            // Text from outside is shown with its bytes escaped and its end cut: a shell would take another name.
            Some(value) if value.contains('\\') || value.contains('…') => {
                Err(format!("a {name} whose name cannot be typed as it is shown"))
            }
            Some(value) => Ok(quoted(&value)),
        })
    }

    fn value(&self, name: &str) -> Option<String> {
        let Culprit { subject, key, address, .. } = self.culprit.as_ref()?;
        let host_and_port = || address.as_deref()?.rsplit_once(':');
        match name {
            "subject" => Some(subject.to_string()),
            "component" => Some(subject.component_of().to_string()),
            "shard" => subject.shard_index().map(|index| format!("#{index}")),
            "key" => key.as_ref().map(ToString::to_string),
            "node address" => address.clone(),
            "host" => {
                let called = host_and_port().map(|(host, _)| host.trim_matches(['[', ']']).to_owned());
                called.or_else(|| machine(subject))
            }
            "port" => host_and_port().map(|(_, port)| port.to_owned()),
            _ => None,
        }
    }
}

/// The machine that a subject is, or in which it sits as a GPU.
fn machine(subject: &Subject) -> Option<String> {
    let own = (subject.kind() == Kind::Host).then(|| subject.component_of());
    own.or_else(|| machine_of(subject)).map(|machine| machine.name().to_owned())
}

/// The names in braces of a text that look like placeholders, known or not.
pub fn placeholders_in(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| piece.err())
}

/// Plain pieces of a text, and the names in braces between them as errors.
fn pieces(text: &str) -> impl Iterator<Item = Result<&str, &str>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let name_at = |open: usize| {
            let inside = rest.get(open + 1..)?;
            let name = inside.get(..inside.find('}')?)?;
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
            is_name.then_some(name)
        };
        let found = rest.match_indices('{').find_map(|(open, _)| Some((open, name_at(open)?)));
        let (piece, taken) = match found {
            Some((0, name)) => (Err(name), name.len() + 2),
            Some((open, _)) => (Ok(&rest[..open]), open),
            None => (Ok(rest), rest.len()),
        };
        rest = &rest[taken..];
        Some(piece)
    })
}

fn replace<E>(text: &str, mut value: impl FnMut(&str, &str) -> Result<String, E>) -> Result<String, E> {
    pieces(text)
        .map(|piece| match piece {
            Ok(plain) => Ok(plain.to_owned()),
            Err(name) => match PLACEHOLDERS.iter().find(|(known, _)| *known == name) {
                Some((_, unknown)) => value(name, unknown),
                None => Ok(format!("{{{name}}}")),
            },
        })
        .collect()
}

/// One word of a POSIX shell: in single quotes, unless nothing in it means anything to a shell.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::RemoteText;

    fn places(key: Option<&str>) -> Places {
        Places::of(Some(Culprit {
            subject: "redis/features#2".parse().unwrap(),
            rules: vec!["shard-bandwidth".to_owned()],
            key: key.map(RemoteText::new),
            address: Some("10.0.3.14:6379".to_owned()),
        }))
    }

    #[test]
    fn what_is_known_is_filled_in_and_nothing_is_invented() {
        let text =
            "cache {key} of {subject} ({shard} of {component}, {node address}) as NAME:{0..N}, {other}";
        assert_eq!(
            places(Some("user:profile:8812")).fill(text),
            "cache user:profile:8812 of redis/features#2 (#2 of redis/features, 10.0.3.14:6379) as NAME:{0..N}, \
             {other}"
        );
        assert!(places(None).fill(text).starts_with("cache the key that is still to be named of redis/"));
        assert!(Places::default().fill(text).starts_with(
            "cache the key that is still to be named of the culprit that is still to be named (the shard"
        ));
    }

    #[test]
    fn the_host_of_a_gpu_is_its_machine() {
        let of = |subject: &str| {
            let subject = subject.parse().unwrap();
            Places::of(Some(Culprit { subject, rules: vec![], key: None, address: None }))
                .command("cordon {host}")
        };
        assert_eq!(of("gpu/host-a:0").as_deref(), Ok("cordon host-a"));
        assert_eq!(of("host/host-a").as_deref(), Ok("cordon host-a"));
        assert!(of("gpu/ranker").is_err());
    }

    #[test]
    fn a_command_is_complete_and_safe_or_not_there() {
        let text = "redis-cli -h {host} -p {port} MEMORY USAGE {key}";
        assert_eq!(
            places(Some("user:profile:8812")).command(text).unwrap(),
            "redis-cli -h 10.0.3.14 -p 6379 MEMORY USAGE user:profile:8812"
        );
        assert!(
            places(Some("a'; rm -rf $(x)")).command(text).unwrap().ends_with(r"USAGE 'a'\''; rm -rf $(x)'")
        );
        assert_eq!(places(None).command(text).unwrap_err(), "the key that is still to be named");
        assert!(places(Some("a\u{1}b")).command(text).unwrap_err().contains("cannot be typed"));
        let mut six = places(Some("k"));
        six.culprit.as_mut().unwrap().address = Some("[fd00::1]:6379".to_owned());
        assert!(six.command(text).unwrap().contains("-h fd00::1 -p 6379"));
    }

    proptest! {
        #[test]
        fn any_text_is_filled_and_what_is_no_placeholder_stays(text in "[{}a-z 0-9.'é]{0,40}") {
            let filled = places(None).fill(&text);
            if placeholders_in(&text).all(|name| PLACEHOLDERS.iter().all(|(known, _)| *known != name)) {
                prop_assert_eq!(filled, text);
            }
        }
    }
}
