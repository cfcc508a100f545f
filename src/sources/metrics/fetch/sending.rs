//! How a request is sent: again where it never left.

use reqwest::{RequestBuilder, Response};

use crate::sources::tls_words::cause;

/// How often a request is sent that never leaves.
const MOST: usize = 4;

/// Sends a request. A server may close the line before the request is on it, as over TLS 1.3 where it refuses our certificate
/// only then: nothing was asked yet, why it closed is lost, and who asks again hears it.
pub(super) async fn sent(request: RequestBuilder) -> reqwest::Result<Response> {
    for _ in 1..MOST {
        let Some(same) = request.try_clone() else { break };
        match same.send().await {
            Err(error) if never_left(&error) => {}
            outcome => return outcome,
        }
    }
    request.send().await
}

fn never_left(error: &reqwest::Error) -> bool {
    cause::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled)
}
