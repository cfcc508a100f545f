//! A TLS handshake that failed, in words: what happened, and what to do.

use std::fmt;

use headwater_engine::RemoteText;
use rustls::{CertificateError as Certificate, Error as Tls};

/// The other side of a handshake, as its messages name it.
pub(super) struct Peer<'a> {
    /// The address, quoted if that is how its source shows it.
    pub(super) address: &'a dyn fmt::Display,
    /// The name that its certificate must be for.
    pub(super) name: &'a str,
    /// What to do when the certificate is for another name.
    pub(super) name_fix: &'a str,
}

/// What an error means; `None` when the other side does not seem to speak TLS.
pub(super) fn explain(peer: &Peer<'_>, error: &Tls) -> Option<String> {
    let address = peer.address;
    let message = match error {
        Tls::InvalidMessage(_) => return None,
        // An authority that was made anew under its old name shows as a bad signature.
        Tls::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            format!("the certificate of {address} is signed by an unknown authority: set ca_file to its CA")
        }
        Tls::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => format!("the certificate of {address} is not for the name '{}': {}", peer.name, peer.name_fix),
        Tls::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            format!("the certificate of {address} has expired: renew it, or check this machine's clock")
        }
        Tls::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            format!(
                "the certificate of {address} is not valid yet: check this machine's clock, or take one that is"
            )
        }
        Tls::InvalidCertificate(other) => format!(
            "the certificate of {address} is not accepted ({}): make another one",
            RemoteText::new(&format!("{other:?}"))
        ),
        Tls::AlertReceived(alert) => format!(
            "{address} broke off the TLS handshake ({}): does it want a client certificate?",
            RemoteText::new(&format!("{alert:?}"))
        ),
        other => format!(
            "TLS with {address} did not come about ({}): check ca_file and the server's certificate",
            RemoteText::new(&other.to_string())
        ),
    };
    Some(message)
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, InvalidMessage, OtherError};

    use super::*;

    #[test]
    fn each_failure_has_its_words_and_its_fix() {
        let cases = [
            (Tls::InvalidCertificate(Certificate::UnknownIssuer), "unknown authority: set ca_file"),
            (Tls::InvalidCertificate(Certificate::BadSignature), "unknown authority: set ca_file"),
            (Tls::InvalidCertificate(Certificate::NotValidForName), "not for the name 'h': map it"),
            (Tls::InvalidCertificate(Certificate::Expired), "has expired: renew"),
            (Tls::InvalidCertificate(Certificate::NotValidYet), "not valid yet: check this machine's clock"),
            (Tls::InvalidCertificate(Certificate::Revoked), "not accepted (Revoked)"),
            (Tls::AlertReceived(AlertDescription::CertificateRequired), "want a client certificate"),
            (Tls::Other(OtherError(std::sync::Arc::new(fmt::Error))), "check ca_file"),
        ];
        let peer = Peer { address: &"'h:1'", name: "h", name_fix: "map it" };
        for (error, words) in cases {
            let message = explain(&peer, &error).unwrap();
            assert!(message.contains(words) && message.contains("'h:1'"), "{message}");
        }
        assert_eq!(explain(&peer, &Tls::InvalidMessage(InvalidMessage::InvalidContentType)), None);
    }
}
