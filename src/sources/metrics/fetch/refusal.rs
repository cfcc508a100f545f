//! What an answer that is no page means, by its status and by the reason that it gives.

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode};

use super::{Address, content_type, fault};

/// The longest answer, in bytes, that is read for the reason of a refusal.
const LONGEST_REASON: usize = 16 * 1024;

/// The longest reason, in characters, that is repeated.
const LONGEST_TOLD: usize = 200;

/// Where answers in JSON keep their reason.
const REASONS: &[&str] = &["error", "message", "detail"];

/// The fault of an answer whose status is not 200, with the reason that the server gives, unless it repeats a secret.
pub(super) async fn refusal(address: &Address, response: &mut Response, secrets: &[&str]) -> Fault {
    let fault = status_fault(address, response.status(), response.headers());
    match reason(response).await.filter(|why| is_harmless(why, secrets)) {
        Some(why) => {
            let message = format!("{}; it says: {}", fault.message, cut(&why));
            Fault { message: RemoteText::new(&message), ..fault }
        }
        None => fault,
    }
}

/// Whether a whole reason, before it is cut, repeats no secret, neither as it is nor as a header that carries it.
fn is_harmless(why: &str, secrets: &[&str]) -> bool {
    let is_header = !secrets.is_empty() && ["Basic ", "Bearer "].iter().any(|scheme| why.contains(scheme));
    !is_header && !secrets.iter().any(|secret| why.contains(secret))
}

/// The whole reason that a server gives beside its status, in JSON or as text.
async fn reason(response: &mut Response) -> Option<String> {
    let kind = content_type(response.headers());
    let (is_json, is_text) = (kind.starts_with("application/json"), kind.starts_with("text/plain"));
    if !is_json && !is_text {
        return None;
    }
    let mut bytes = vec![];
    while bytes.len() < LONGEST_REASON {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    if is_text {
        return of_text(&String::from_utf8_lossy(&bytes));
    }
    let answer: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let words = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    REASONS.iter().find_map(|key| {
        let value = answer.get(key)?;
        words(value).or_else(|| words(value.get("message")?))
    })
}

/// The first two lines, as Go's exporters write what went wrong, unless they are metrics all the same.
fn of_text(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
    let is_reason = lines.first().is_some_and(|line| !line.starts_with('#'));
    is_reason.then(|| lines.join(" "))
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TOLD).collect()
}

fn status_fault(address: &Address, status: StatusCode, headers: &HeaderMap) -> Fault {
    let code = status.as_u16();
    match code {
        401 => fault(
            FaultKind::Auth,
            format!(
                "{address} wants credentials (401): set bearer_env or bearer_file for this target; a new token in \
                 bearer_file is taken up within half a minute"
            ),
        ),
        403 => fault(
            FaultKind::Auth,
            format!(
                "{address} refuses us (403): give a token that may read metrics, or allow this host there; it is \
                 asked again within half a minute"
            ),
        ),
        300..=399 => {
            let to = headers.get(LOCATION).map_or(&b"nowhere"[..], HeaderValue::as_bytes);
            let to = RemoteText::from_bytes(to);
            let message =
                format!("{address} redirects ({code}) to '{to}': if that is right, write it as the url");
            fault(FaultKind::Http, message)
        }
        404 | 405 => fault(
            FaultKind::Http,
            format!("{address} answers {status}: is the path right? {}", address.hint()),
        ),
        429 => fault(
            FaultKind::Busy,
            format!("{address} is asked too often (429): raise the interval, or the limit on that server"),
        ),
        500..=599 => fault(
            if code == 503 { FaultKind::Busy } else { FaultKind::Http },
            format!("{address} answers {status}: look into that server's log; it is asked again"),
        ),
        _ => fault(
            FaultKind::Http,
            format!("{address} answers {status} instead of 200: check the url in a browser"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_looked_for_in_the_whole_reason_and_in_headers_that_carry_it() {
        let token = "k".repeat(600);
        assert!(!is_harmless(&format!("invalid token {token}"), &[&token]));
        assert!(!is_harmless("you sent Authorization: Basic dXNlcjpzM2NyZXQ=", &["s3cret"]));
        assert!(is_harmless("missing Authorization header", &["s3cret"]));
        assert!(is_harmless("Basic authentication is off", &[]));
    }
}
