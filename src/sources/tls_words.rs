//! A TLS handshake that failed, in words: what happened, and what to do.

use std::error::Error;
use std::path::Path;
use std::{fmt, io};

use headwater_engine::RemoteText;
use rustls::{AlertDescription as Alert, CertificateError as Wrong, Error as Tls};

/// The other side of a handshake, as its messages name it.
pub(super) struct Peer<'a> {
    /// The address, quoted if that is how its source shows it.
    pub(super) address: &'a dyn fmt::Display,
    /// The name that its certificate must be for.
    pub(super) name: &'a str,
    /// What to do when the certificate is for another name.
    pub(super) name_fix: &'a str,
    /// What we show of ourselves.
    pub(super) certificate: Certificate<'a>,
}

/// The certificate of the client.
pub(super) enum Certificate<'a> {
    /// There is none, and this is how to give one.
    None(&'static str),
    /// It comes from this file.
    Shown(&'a Path),
}

/// What an error means; `None` when the other side does not seem to speak TLS.
pub(super) fn explain(peer: &Peer<'_>, error: &Tls) -> Option<String> {
    let address = peer.address;
    let message = match error {
        Tls::InvalidMessage(_) => return None,
        // An authority that was made anew under its old name shows as a bad signature.
        Tls::InvalidCertificate(Wrong::UnknownIssuer | Wrong::BadSignature) => {
            format!(
                "the certificate of {address} is signed by an unknown authority: set ca_file to its CA (where one is given, \
                 no other is trusted)"
            )
        }
        Tls::InvalidCertificate(Wrong::NotValidForName) => {
            format!("the certificate of {address} is not for the name '{}': {}", peer.name, peer.name_fix)
        }
        Tls::InvalidCertificate(Wrong::NotValidForNameContext { presented, .. }) => format!(
            "the certificate of {address} is not for the name '{}' but for {}: {}",
            peer.name,
            names(presented),
            peer.name_fix
        ),
        Tls::InvalidCertificate(Wrong::Expired | Wrong::ExpiredContext { .. }) => {
            format!("the certificate of {address} has expired: renew it, or check this machine's clock")
        }
        Tls::InvalidCertificate(Wrong::NotValidYet | Wrong::NotValidYetContext { .. }) => {
            format!(
                "the certificate of {address} is not valid yet: check this machine's clock, or take one that is"
            )
        }
        Tls::InvalidCertificate(other) => format!(
            "the certificate of {address} is not accepted ({}): make another one",
            RemoteText::new(&format!("{other:?}"))
        ),
        Tls::AlertReceived(alert) => of_alert(peer, *alert),
        other => format!(
            "TLS with {address} did not come about ({}): check ca_file and the server's certificate",
            RemoteText::new(&other.to_string())
        ),
    };
    Some(message)
}

/// The first cause of this type; IO errors hide theirs in `get_ref`.
pub(super) fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref() {
            return Some(found);
        }
        next = match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    None
}

/// What a server broke off with. What it says of certificates is about ours.
fn of_alert(peer: &Peer<'_>, alert: Alert) -> String {
    let address = peer.address;
    let said = RemoteText::new(&format!("{alert:?}"));
    match (&peer.certificate, alert) {
        (Certificate::None(fix), Alert::CertificateRequired) => {
            format!("{address} wants a client certificate and got none: {fix}")
        }
        (
            Certificate::Shown(path),
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::DecryptError
            | Alert::CertificateRequired
            | Alert::AccessDenied,
        ) => format!(
            "{address} does not accept our client certificate '{}' ({said}): give one that its own authority signed and \
             that has not expired",
            RemoteText::new(&path.display().to_string())
        ),
        (Certificate::None(fix), _) => {
            format!(
                "{address} broke off the TLS handshake ({said}): does it want a client certificate? Then {fix}"
            )
        }
        (Certificate::Shown(_), _) => format!(
            "{address} broke off the TLS handshake ({said}): look into its log, and at the versions of TLS that it takes"
        ),
    }
}

/// The names of a certificate, without the words around each.
fn names(presented: &[String]) -> RemoteText {
    let bare = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        format!("'{}'", inner.trim_matches('"'))
    };
    match presented {
        [] => RemoteText::new("no name at all"),
        some => RemoteText::new(&some.iter().take(4).map(bare).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use rustls::{InvalidMessage, OtherError};

    use super::*;

    #[test]
    fn each_failure_has_its_words_and_its_fix() {
        let misnamed = Tls::InvalidCertificate(Wrong::NotValidForNameContext {
            expected: "h".try_into().unwrap(),
            presented: vec!["DnsName(\"a.example\")".to_owned(), "IpAddress(10.0.0.1)".to_owned()],
        });
        let cases = [
            (Tls::InvalidCertificate(Wrong::UnknownIssuer), "unknown authority: set ca_file"),
            (Tls::InvalidCertificate(Wrong::BadSignature), "unknown authority: set ca_file"),
            (Tls::InvalidCertificate(Wrong::NotValidForName), "not for the name 'h': map it"),
            (misnamed, "not for the name 'h' but for 'a.example', '10.0.0.1': map it"),
            (Tls::InvalidCertificate(Wrong::Expired), "has expired: renew"),
            (Tls::InvalidCertificate(Wrong::NotValidYet), "not valid yet: check this machine's clock"),
            (Tls::InvalidCertificate(Wrong::Revoked), "not accepted (Revoked)"),
            (
                Tls::AlertReceived(Alert::CertificateRequired),
                "wants a client certificate and got none: give it",
            ),
            (Tls::AlertReceived(Alert::HandshakeFailure), "want a client certificate? Then give it"),
            (Tls::Other(OtherError(std::sync::Arc::new(fmt::Error))), "check ca_file"),
        ];
        let none = Certificate::None("give it");
        let peer = Peer { address: &"'h:1'", name: "h", name_fix: "map it", certificate: none };
        for (error, words) in cases {
            let message = explain(&peer, &error).unwrap();
            assert!(message.contains(words) && message.contains("'h:1'"), "{message}");
        }
        assert_eq!(explain(&peer, &Tls::InvalidMessage(InvalidMessage::InvalidContentType)), None);
        let shown = Peer { certificate: Certificate::Shown(Path::new("me.pem")), ..peer };
        for (alert, words) in
            [(Alert::UnknownCA, "our client certificate 'me.pem'"), (Alert::ProtocolVersion, "its log")]
        {
            let message = explain(&shown, &Tls::AlertReceived(alert)).unwrap();
            assert!(message.contains(words), "{message}");
        }
    }
}
