//! One request and its answer, with the moments in between.

use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::stream::{TokenStream, Told};
use super::way::{self, Stream};
use super::{Completion, ProbeKind, ProbeSpec, fault};
use crate::sources::metrics::fetch::{Address, authorization};
use crate::sources::redis::tls::Tls;

/// Of an answer this much is looked through for words.
const LOOKED_THROUGH: usize = 64 * 1024;

/// An answer is read up to this length; what comes after is left where it is.
const LONGEST_ANSWER: u64 = 1024 * 1024;

/// What was seen of one request, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) dns: Option<Duration>,
    pub(super) connect: Option<Duration>,
    pub(super) tls: Option<Duration>,
    /// From the request to the head of the answer.
    pub(super) first_byte: Option<Duration>,
    /// From the request to the first token.
    pub(super) first_token: Option<Duration>,
    pub(super) status: Option<u16>,
    /// Bytes of the body that were read.
    pub(super) bytes: u64,
}

impl Seen {
    /// Each phase up to the answer with its name.
    pub(super) fn phases(&self) -> impl Iterator<Item = (&'static str, Option<Duration>)> {
        [("dns", self.dns), ("connect", self.connect), ("tls", self.tls), ("first_byte", self.first_byte)]
            .into_iter()
    }
}

/// Sends the request of a probe over an open connection and looks at the answer.
pub(super) async fn ask(
    spec: &ProbeSpec,
    address: &Address,
    bearer: Option<&str>,
    (stream, tls): (Box<dyn Stream>, Option<&Tls>),
    deadline: Instant,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let request = request(spec, address, bearer)?;
    let broken = |error: hyper::Error| {
        tls.and_then(|tls| way::refused(address, tls, &error)).unwrap_or_else(|| of_hyper(address, &error))
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let driven = AbortOnDropHandle::new(tokio::spawn(connection));
    let begun = Instant::now();
    let answer = timeout_at(deadline, sender.send_request(request)).await.map_err(|_| silent(address))?;
    let answer = match answer {
        // Why the line was closed before the request was on it knows whoever drove it.
        Err(error) if error.is_canceled() => {
            let why = timeout_at(deadline, driven).await.ok().and_then(Result::ok).and_then(Result::err);
            return Err(broken(why.unwrap_or(error)));
        }
        answer => answer.map_err(broken)?,
    };
    seen.first_byte = Some(begun.elapsed());
    seen.status = Some(answer.status().as_u16());
    if let Some(fault) = refusal(spec, address, &answer) {
        return Err(fault);
    }
    match &spec.kind {
        ProbeKind::FirstToken(_) => first_token(address, answer, begun, deadline, seen).await,
        ProbeKind::Http | ProbeKind::Ready => page(spec, address, answer, deadline, seen).await,
    }
}

fn request(spec: &ProbeSpec, address: &Address, bearer: Option<&str>) -> Result<Request<Full<Bytes>>, Fault> {
    let url = address.url();
    let query = url.query().map_or(String::new(), |query| format!("?{query}"));
    let target = format!("{}{query}", url.path());
    let host =
        if url.port().is_none() { url.host_str().unwrap_or_default() } else { address.host_and_port() };
    let mut request = Request::builder()
        .uri(target)
        .header(HOST, host)
        .header(USER_AGENT, concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close");
    if let Some(token) = bearer {
        let words = "the bearer token holds a character that HTTP cannot send: check its file for line ends in between";
        let value = authorization(token).ok_or_else(|| fault(FaultKind::Auth, words.to_owned()))?;
        request = request.header(AUTHORIZATION, value);
    }
    if let Some(headers) = request.headers_mut() {
        headers.extend(spec.headers.values().clone());
    }
    let request = match &spec.kind {
        ProbeKind::FirstToken(completion) => request
            .method(Method::POST)
            .header(ACCEPT, "text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body(completion, url.path()))),
        ProbeKind::Http | ProbeKind::Ready => request.header(ACCEPT, "*/*").body(Full::default()),
    };
    request.map_err(|error| fault(FaultKind::Malformed, format!("{address} cannot be asked for ({error})")))
}

/// The question for a small text, in the form that its path says.
fn body(completion: &Completion, path: &str) -> String {
    let mut body =
        serde_json::json!({ "stream": true, "max_tokens": completion.most_tokens, "temperature": 0 });
    if path.trim_end_matches('/').ends_with("/chat/completions") {
        body["messages"] = serde_json::json!([{ "role": "user", "content": completion.prompt }]);
    } else {
        body["prompt"] = completion.prompt.as_str().into();
    }
    if let Some(model) = &completion.model {
        body["model"] = model.as_str().into();
    }
    body.to_string()
}

/// What is wrong with an answer by its status alone.
fn refusal(spec: &ProbeSpec, address: &Address, answer: &Response<Incoming>) -> Option<Fault> {
    let status = answer.status();
    let is_good = match spec.status {
        Some(expected) => status.as_u16() == expected,
        None => status.is_success(),
    };
    if is_good {
        return None;
    }
    let wanted = spec.status.map_or("2xx".to_owned(), |expected| expected.to_string());
    let asks_for_tokens = matches!(spec.kind, ProbeKind::FirstToken(_));
    let (kind, message) = match status.as_u16() {
        401 | 403 => (
            FaultKind::Auth,
            format!("{address} refuses the probe ({status}): set bearer_env or bearer_file for this probe"),
        ),
        429 => (
            FaultKind::Busy,
            format!("{address} is asked too often (429): raise 'every', or that server's limit"),
        ),
        400 | 404 | 422 if asks_for_tokens => (
            FaultKind::Http,
            format!(
                "{address} answers {status} to a small completion: check the path (/v1/completions or \
                 /v1/chat/completions), and set 'model' to one that it serves"
            ),
        ),
        code @ 300..=399 => {
            let to = answer.headers().get(LOCATION).map_or(&b"nowhere"[..], |value| value.as_bytes());
            let to = RemoteText::from_bytes(to);
            let message = format!(
                "{address} redirects ({code}) to '{to}': write that as the url, or status = {code} if it is right"
            );
            (FaultKind::Http, message)
        }
        503 => (FaultKind::Busy, format!("{address} answers {status}, not {wanted}: it is not ready")),
        _ => (
            FaultKind::Http,
            format!("{address} answers {status}, not {wanted}: look into that server's log, or set 'status'"),
        ),
    };
    Some(fault(kind, message))
}

/// Reads a page to its end, or as much of it as is worth reading.
async fn page(
    spec: &ProbeSpec,
    address: &Address,
    answer: Response<Incoming>,
    deadline: Instant,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let mut body = answer.into_body();
    let mut head = vec![];
    while seen.bytes < LONGEST_ANSWER {
        let Some(bytes) = next(address, &mut body, deadline).await? else { break };
        seen.bytes += bytes.len() as u64;
        let room = LOOKED_THROUGH.saturating_sub(head.len());
        head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    let Some(words) = spec.contains.as_deref().filter(|words| !words.is_empty()) else { return Ok(()) };
    if memchr::memmem::find(&head, words.as_bytes()).is_some() {
        return Ok(());
    }
    let begins = RemoteText::from_bytes(&head[..head.len().min(80)]);
    let message = format!("{address} answers without '{}': it begins '{begins}'", RemoteText::new(words));
    Err(fault(FaultKind::Http, message))
}

/// Reads a stream to its end, so that the server does not count us among callers who went away.
async fn first_token(
    address: &Address,
    answer: Response<Incoming>,
    begun: Instant,
    deadline: Instant,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.trim().to_ascii_lowercase().starts_with("text/event-stream") {
        let kind = RemoteText::new(if kind.is_empty() { "an answer of no type" } else { kind });
        let message = format!(
            "{address} sends '{kind}' at once instead of a stream: does it, or a proxy before it, leave out \
             \"stream\": true? There is no first token to wait for"
        );
        return Err(fault(FaultKind::Malformed, message));
    }
    let mut body = answer.into_body();
    let mut tokens = TokenStream::default();
    while seen.bytes < LONGEST_ANSWER {
        let next = next(address, &mut body, deadline).await;
        let bytes = match next {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            // The first token is what was waited for; a tail that stalls is a matter of its own.
            Err(fault) if seen.first_token.is_none() => return Err(fault),
            Err(stalled) => {
                let message = format!("{}; the first token came, the rest did not", stalled.message);
                return Err(fault(stalled.kind, message));
            }
        };
        seen.bytes += bytes.len() as u64;
        for told in tokens.push(&bytes) {
            match told {
                Told::Token => {
                    seen.first_token.get_or_insert_with(|| begun.elapsed());
                }
                Told::Done => return has_token(address, seen),
                Told::Failed(words) => {
                    let message = format!("{address} breaks the stream off: '{words}'");
                    return Err(fault(FaultKind::Http, message));
                }
            }
        }
    }
    has_token(address, seen)
}

fn has_token(address: &Address, seen: &Seen) -> Result<(), Fault> {
    match seen.first_token {
        Some(_) => Ok(()),
        None => {
            let message = format!(
                "{address} ends its stream without a token: look into that server's log, or try another prompt"
            );
            Err(fault(FaultKind::Malformed, message))
        }
    }
}

/// The next bytes of a body; `None` at its end.
async fn next(address: &Address, body: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, Fault> {
    loop {
        match timeout_at(deadline, body.frame()).await {
            Err(_) => {
                let message = format!("{address} began an answer and did not go on in time: is it stuck?");
                return Err(fault(FaultKind::Silent, message));
            }
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => return Err(of_hyper(address, &error)),
            Ok(Some(Ok(frame))) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

fn silent(address: &Address) -> Fault {
    fault(FaultKind::Silent, format!("{address} took the request and did not answer in time: is it stuck?"))
}

fn of_hyper(address: &Address, error: &hyper::Error) -> Fault {
    let (kind, message) = if error.is_parse() {
        (
            FaultKind::Malformed,
            format!(
                "{address} does not answer in HTTP: if it serves TLS, write https://, else check the port"
            ),
        )
    } else if error.is_incomplete_message() {
        (FaultKind::Unreachable, format!("{address} closed the connection before its answer was complete"))
    } else {
        (FaultKind::Unreachable, format!("{address} broke off ({error}): did the server crash?"))
    };
    fault(kind, message)
}
