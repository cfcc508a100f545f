//! What this machine's own resolver says of a name. It knows more than DNS does: the hosts file, and whatever else the
//! machine is set to look in (mDNS, LDAP, the servers that a VPN has for one domain).

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use headwater_engine::reading::FaultKind;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::message::{Found, Record};

/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(4);

/// What the resolvers of C libraries say of a name that does not exist, or that has no address; the code behind the words
/// is not handed on. Other words are taken for a failure, which ends no target.
const NO_SUCH_NAME: &[&str] = &[
    "Name or service not known",
    "No address associated with hostname",
    "Name does not resolve",
    "Name has no usable address",
    "nodename nor servname provided, or not known",
    "hostname nor servname provided, or not known",
];

/// What came of asking it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Addresses of the kind, at least one.
    Found(Vec<Found>),
    /// That there is no such name, or addresses of the other kind alone: it does not say whether there are none of this
    /// kind, or only one of the two questions that it asks could be answered. DNS says which.
    None,
    /// It cannot say, and why. DNS alone cannot say that there is none then.
    Failed(FaultKind, String),
}

/// Asks for the addresses of one kind.
pub(super) async fn ask(name: &str, record: Record) -> Said {
    let told = timeout(PATIENCE, lookup_host((name, 0))).await;
    let told = told.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    said(told.map(|found| found.map(|address| address.ip()).collect()), record)
}

fn said(told: io::Result<Vec<IpAddr>>, record: Record) -> Said {
    let mut found: Vec<Found> = match told {
        Ok(addresses) => {
            let is_wanted = |address: &IpAddr| address.is_ipv4() == (record == Record::A);
            addresses.into_iter().filter(is_wanted).map(Found::Address).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            return Said::Failed(FaultKind::Silent, format!("no answer within {} s", PATIENCE.as_secs()));
        }
        Err(error) => {
            let words = error.to_string();
            match NO_SUCH_NAME.iter().any(|none| words.ends_with(none)) {
                true => vec![],
                false => return Said::Failed(FaultKind::Unreachable, words),
            }
        }
    };
    found.sort();
    found.dedup();
    if found.is_empty() { Said::None } else { Said::Found(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_from_a_name_that_does_not_exist() {
        let failed = |words: &str| said(Err(io::Error::other(words)), Record::A);
        let before = "failed to lookup address information: ";
        for words in NO_SUCH_NAME {
            assert_eq!(failed(&format!("{before}{words}")), Said::None);
        }
        for words in ["Temporary failure in name resolution", "Non-recoverable failure in name resolution"] {
            let words = format!("{before}{words}");
            assert_eq!(failed(&words), Said::Failed(FaultKind::Unreachable, words.clone()));
        }
        let silent = said(Err(io::ErrorKind::TimedOut.into()), Record::A);
        assert_eq!(silent, Said::Failed(FaultKind::Silent, "no answer within 4 s".to_owned()));
    }

    /// Names for which a C library has to look nowhere.
    #[tokio::test]
    async fn this_machines_resolver_uses_words_that_are_known() {
        assert_eq!(ask("::1%no-such-interface", Record::Aaaa).await, Said::None);
        assert!(matches!(ask("a\0b", Record::A).await, Said::Failed(FaultKind::Unreachable, _)));
        let own = vec![Found::Address([127, 0, 0, 1].into())];
        assert_eq!(ask("127.0.0.1", Record::A).await, Said::Found(own));
        assert_eq!(ask("127.0.0.1", Record::Aaaa).await, Said::None);
    }
}
