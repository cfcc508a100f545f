//! What of texts and addresses may be shown: no password, and no query, which may hold a token.

use std::borrow::Cow;

use super::target::REDIS_SCHEMES;

/// The schemes of addresses that are asked here, beside those of Redis.
const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

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

/// An address with `***` instead of its password and of its query, where an address was asked for: what has no scheme may
/// be one that lacks it by mistake. A text that is none is given back as it is.
pub(crate) fn shown_address(address: &str) -> Cow<'_, str> {
    shown(address, |text| text.rsplit_once('@').is_some_and(|(login, _)| login.contains(':')))
}

/// A text that somebody else wrote, the value of a label or a word of a title, as [`shown_address`] shows it; but what has no
/// scheme is an address with a login only where nothing else is written so: `ranker:v42@sha256:9f` is an image and
/// `models:/ranker@champion` a model.
pub(crate) fn shown_word(text: &str) -> Cow<'_, str> {
    shown(text, is_login_at_host)
}

fn shown(address: &str, is_address_with_login: fn(&str) -> bool) -> Cow<'_, str> {
    let (scheme, text) = split_scheme(address);
    let has_login = if scheme.is_some() { text.contains('@') } else { is_address_with_login(text) };
    let has_query = match scheme {
        Some(_) => text.contains(['?', '#']),
        None => text.split_once('?').is_some_and(|(_, query)| query.contains('=')),
    };
    if !has_login && !has_query {
        return Cow::Borrowed(address);
    }
    let before = &address[..address.len() - text.len()];
    // `u://pass:word@h` may lack its scheme, and be a user whose password begins with slashes: then nothing before the host is known
    // to be none of it.
    let is_known = scheme.is_none_or(|scheme| {
        REDIS_SCHEMES.iter().chain(&SCHEMES).any(|known| scheme.eq_ignore_ascii_case(known))
    });
    if !has_login && let Some((place, _)) = text.split_once(['?', '#']) {
        let first = &text[place.len()..=place.len()];
        return Cow::Owned(format!("{before}{place}{first}***"));
    }
    Cow::Owned(match Address::of(text) {
        Some(Address { login, host_and_path, rest_begins }) => {
            // A login of one word may be a token.
            let user = login.map(|login| match login.split_once(':') {
                Some((user, _)) if is_known => format!("{user}:***@"),
                _ => "***@".to_owned(),
            });
            let rest = rest_begins.map(|first| format!("{first}***"));
            format!("{before}{}{host_and_path}{}", user.unwrap_or_default(), rest.unwrap_or_default())
        }
        None => {
            // What stands before a ':' is a user or a host; without one it may be the half of a token.
            let safe = text.split_once([':', '?', '#']).map_or("", |(first, _)| first);
            let safe =
                if is_known && text[safe.len()..].starts_with(':') { &text[..=safe.len()] } else { "" };
            format!("{before}{safe}***")
        }
    })
}

/// Whether this is `user:password@host[:port]`, alone or with something behind that is no part of a name.
fn is_login_at_host(text: &str) -> bool {
    let Some((login, place)) = text.rsplit_once('@') else { return false };
    let has_password = login.split_once(':').is_some_and(|(_, password)| !password.is_empty());
    let is_digest = ["sha256:", "sha512:"].iter().any(|algorithm| place.starts_with(algorithm));
    if !has_password || login.contains('/') || is_digest {
        return false;
    }
    let in_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let (host, rest) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(six) => six,
        None => place.split_at(place.find(|c| !in_host(c)).unwrap_or(place.len())),
    };
    let behind = rest.strip_prefix(':').unwrap_or(rest).trim_start_matches(|c: char| c.is_ascii_digit());
    !host.is_empty() && !behind.starts_with(char::is_alphanumeric)
}

/// A text in which every word is shown as [`shown_word`] does.
pub(crate) fn without_secrets(text: &str) -> String {
    word_by_word(text, shown_word)
}

/// A list of addresses as it is written, each shown as [`shown_address`] does.
pub(crate) fn shown_addresses(text: &str) -> String {
    word_by_word(text, shown_address)
}

fn word_by_word(text: &str, shown: fn(&str) -> Cow<'_, str>) -> String {
    let ends = |c: char| matches!(c, '"' | '\'') || c.is_whitespace();
    let mut told = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        told.push_str(&shown(word));
        told.push_str(&piece[word.len()..]);
    }
    told
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
            ("http://h/?a=b@c&token=s", "http://***"),
            ("http://h:1/?a=b@c&token=s", "http://h:***"),
            // A token with either in it: half of it is not to be shown.
            ("https://ghp_abc#def@h/x", "https://***"),
            ("redis://s3c?ret@h", "redis://***"),
            ("redis://s3/c?ret@h", "redis://***"),
            ("https://u:12?w@h/x", "https://u:***"),
            // Without a scheme, as it is written by mistake; it may look like one.
            ("u://pa://ss@h:1", "u://***@h:1"),
            ("u://pa:ss@h:1/x", "u://***@h:1/x"),
            ("u://pa:s?s@h:1/x", "u://***"),
            ("HTTPS://u:p@h/x", "HTTPS://u:***@h/x"),
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
        let shown = "[\"redis://:***@h\", \"http://***\", 'http://h:1/m?***'] or u:***@h\n";
        assert_eq!(without_secrets(text), shown);
        assert_eq!(shown_addresses("['u:p/w@h:1']"), "['u:***@h:1']");
    }

    #[test]
    fn what_others_write_is_an_address_only_where_nothing_else_is_written_so() {
        for text in [
            "deploy ranker:v42@sha256:9f86d081",
            "ranker:v42@sha512:12345",
            "models:/ranker@champion",
            "cc:@alice",
            "service/x@10.0.0.1:6379",
            "git@github.com:house/ranker",
            "a:b@c:9f86",
            "a:b@",
        ] {
            assert_eq!(without_secrets(text), text);
        }
        for (text, shown) in [
            ("via u:p@h.", "via u:***@h."),
            ("u:p@ss@h:1/x", "u:***@h:1/x"),
            (":p@h,", ":***@h,"),
            ("u:p@[::1]:6379/0", "u:***@[::1]:6379/0"),
            ("u:p@h:$PORT", "u:***@h:$PORT"),
            ("u:pa?ss@h", "u:***"),
            ("models:/ranker@champion?token=s", "models:/ranker@champion?***"),
            ("redis://t0ken@h", "redis://***@h"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
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
            let mut addresses =
                vec![format!("{scheme}u:{password}@host:1/x"), format!("{scheme}host:1/m?token={password}")];
            if !scheme.is_empty() {
                // A login of one word.
                addresses.push(format!("{scheme}{}@host:1/x", password.replace(':', "_")));
            }
            for address in addresses {
                prop_assert!(is_hidden(&shown_addresses(&address)), "{address}: {}", shown_addresses(&address));
                if !scheme.is_empty() || !password.contains('/') {
                    prop_assert!(is_hidden(&without_secrets(&address)), "{address}: {}", without_secrets(&address));
                }
                prop_assert!(is_hidden(host_and_path(&address).unwrap_or_default()), "{address}");
            }
        }
    }
}
