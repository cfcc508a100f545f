//! What of texts and addresses may be shown: no password, and no query, which may hold a token.

use std::borrow::Cow;

/// An address behind its scheme, taken apart.
struct Address<'a> {
    /// What stands before the last `@`.
    login: Option<&'a str>,
    host_and_path: &'a str,
    /// What begins the query or the fragment, where there is any.
    rest_begins: Option<&'a str>,
}

impl<'a> Address<'a> {
    /// `None` where nobody can tell a password with a `?` in it from a query with an `@` in it.
    fn of(text: &'a str) -> Option<Self> {
        let (login, place) = match text.rsplit_once('@') {
            Some((login, _)) if login.contains(['?', '#']) => return None,
            // A password may hold a '/', and a path an '@': of both the shorter place is the safe one.
            Some((login, place)) => (Some(login), place),
            None => (None, text),
        };
        let end = place.find(['?', '#']);
        Some(Self {
            login,
            host_and_path: &place[..end.unwrap_or(place.len())],
            rest_begins: end.map(|at| &place[at..=at]),
        })
    }
}

/// The host and the path of an address, by which addresses of one kind are told apart; `None` where a part of a secret may
/// be among them.
pub(crate) fn host_and_path(address: &str) -> Option<&str> {
    let (_, text) = split_scheme(address);
    Some(Address::of(text)?.host_and_path.trim_end_matches('/'))
}

/// An address with `***` instead of its password and of its query. A text that is none is given back as it is.
pub(crate) fn shown_address(address: &str) -> Cow<'_, str> {
    let (scheme, text) = split_scheme(address);
    let has_login = text.rsplit_once('@').is_some_and(|(login, _)| scheme.is_some() || login.contains(':'));
    let has_query = match scheme {
        Some(_) => text.contains(['?', '#']),
        None => text.split_once('?').is_some_and(|(_, query)| query.contains('=')),
    };
    if !has_login && !has_query {
        return Cow::Borrowed(address);
    }
    let before = &address[..address.len() - text.len()];
    Cow::Owned(match Address::of(text) {
        Some(Address { login, host_and_path, rest_begins }) => {
            // A login of one word may be a token.
            let user = login.map(|login| match login.split_once(':') {
                Some((user, _)) => format!("{user}:***@"),
                None => "***@".to_owned(),
            });
            let rest = rest_begins.map(|first| format!("{first}***"));
            format!("{before}{}{host_and_path}{}", user.unwrap_or_default(), rest.unwrap_or_default())
        }
        None => {
            let safe = text.find([':', '?', '#']).unwrap_or(0);
            format!("{before}{}***", &text[..=safe])
        }
    })
}

/// A text in which every word that is an address is shown as [`shown_address`] does.
pub(crate) fn without_secrets(text: &str) -> String {
    let ends = |c: char| matches!(c, '"' | '\'') || c.is_whitespace();
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        shown.push_str(&shown_address(word));
        shown.push_str(&piece[word.len()..]);
    }
    shown
}

/// The scheme of an address, where it has one, and what stands behind it; a password may hold a `://` too.
fn split_scheme(address: &str) -> (Option<&str>, &str) {
    match address.split_once("://") {
        Some((scheme, text)) if !scheme.contains([':', '@']) => (Some(scheme), text),
        _ => (None, address),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_and_queries_do_not_show() {
        for (address, shown) in [
            ("redis://u:p:q@h:1/0", "redis://u:***@h:1/0"),
            ("redis://u:p/w@h:1", "redis://u:***@h:1"),
            ("redis://u:p/w?x@h:1", "redis://u:***"),
            ("redis://:p@h", "redis://:***@h"),
            ("rediss://u:p@ss@h:1?x=y", "rediss://u:***@h:1?***"),
            ("https://ghp_token@h/x", "https://***@h/x"),
            ("http://h:1/m?t=s", "http://h:1/m?***"),
            ("http://h:1/m#t=s", "http://h:1/m#***"),
            // A query with an '@', or a password with a '?': nobody knows.
            ("http://h/?a=b@c&token=s", "http://h/?***"),
            ("http://h:1/?a=b@c&token=s", "http://h:***"),
            ("https://u:12?w@h/x", "https://u:***"),
            // Without a scheme, as it is written by mistake.
            ("u:p@h:1", "u:***@h:1"),
            ("u:pa://ss@h:1", "u:***@h:1"),
            ("h:1/m?token=s", "h:1/m?***"),
            ("no address", "no address"),
            ("what?", "what?"),
            ("10.0.0.1:6379", "10.0.0.1:6379"),
            ("service/x@10.0.0.1:6379", "service/x@10.0.0.1:6379"),
        ] {
            assert_eq!(shown_address(address), shown, "{address}");
        }
        let text = "[\"redis://:p@h\", \"http://h/?a=b@c\", 'http://h:1/m?t=s'] or u:p@h\n";
        let shown = "[\"redis://:***@h\", \"http://h/?***\", 'http://h:1/m?***'] or u:***@h\n";
        assert_eq!(without_secrets(text), shown);
    }

    #[test]
    fn an_address_is_told_from_others_by_nothing_that_is_secret() {
        for (address, told) in [
            ("https://u:s3cret@ranker:8000/ready?token=t", Some("ranker:8000/ready")),
            ("redis://:pass/w@10.0.0.1:6379", Some("10.0.0.1:6379")),
            ("redis://:pa?ss/w@10.0.0.1:6379", None),
            ("https://u:pa?ss@ranker/x", None),
            ("https://u:pa#ss@ranker/x", None),
            ("u:pa?ss@ranker", None),
            ("https://h/x?to=a@b&token=t", None),
            ("h:1/", Some("h:1")),
            ("", Some("")),
        ] {
            assert_eq!(host_and_path(address), told, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_password_survives(
            text in "\\PC{0,40}",
            scheme in prop::sample::select(vec!["redis://", "https://", "http://", ""]),
            // Digits first look like a port.
            password in "[0-9]{0,3}[/?#@:&=]{0,2}[Q-Z]{6}([/?#@:&=]{0,2}|://)[Q-Z]{6}",
        ) {
            let is_hidden = |shown: &str| !shown.contains(['Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z']);
            let _ = (without_secrets(&text), host_and_path(&text), shown_address(&text));
            for address in [format!("{scheme}u:{password}@host:1/x"), format!("{scheme}host:1/m?token={password}")] {
                prop_assert!(is_hidden(&without_secrets(&address)), "{address}: {}", without_secrets(&address));
                prop_assert!(is_hidden(host_and_path(&address).unwrap_or_default()), "{address}");
            }
        }
    }
}
