//! Lists of targets that HTTP servers give, as Prometheus' `http_sd`.

use std::time::Duration;

use headwater_engine::reading::FaultKind;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};

use super::Trouble;
use super::list::{Group, LONGEST_LIST, Syntax, groups};
use crate::sources::metrics::fetch::{Address, Fetcher};
use crate::sources::metrics::{MetricsSpec, MetricsSpecError};

/// How often the list is asked for, in seconds, as Prometheus tells its servers: some keep a list for as long.
const REFRESH_INTERVAL: HeaderName = HeaderName::from_static("x-prometheus-refresh-interval-seconds");

/// Who asks a server for its list so often.
pub(super) fn fetcher(
    address: Address,
    server: &MetricsSpec,
    every: Duration,
) -> Result<Fetcher, MetricsSpecError> {
    let every = HeaderValue::try_from(every.as_secs_f64().to_string()).ok();
    let json = HeaderValue::from_static("application/json");
    let fetcher = Fetcher::new(address, server)?.sending(ACCEPT, json);
    Ok(every.into_iter().fold(fetcher, |fetcher, every| fetcher.sending(REFRESH_INTERVAL, every)))
}

/// Asks a server for its list.
pub(super) async fn list(fetcher: &mut Fetcher) -> Result<Vec<Group>, Trouble> {
    let address = fetcher.address().clone();
    let page = fetcher.fetch().await.map_err(|fault| match fault.kind {
        FaultKind::TooLarge => too_long(&address),
        kind => Trouble::new(kind, fault.message.as_str().to_owned()),
    })?;
    if page.bytes.len() > LONGEST_LIST {
        return Err(too_long(&address));
    }
    let is_html = page.claim == Some("HTML");
    let read = tokio::task::spawn_blocking(move || groups(&page.bytes, Syntax::Json)).await;
    read.unwrap_or_else(|error| Err(error.to_string())).map_err(|why| {
        let message = match is_html {
            true => {
                format!("{address} serves HTML, not a list of targets: is it a login page, or another path?")
            }
            false => format!("{address} {why}"),
        };
        Trouble::new(FaultKind::Malformed, message)
    })
}

fn too_long(address: &Address) -> Trouble {
    let message = format!(
        "{address} sends no end of a list within 10 s or {} MiB: check the url; a fleet that large is split over several",
        LONGEST_LIST / 1024 / 1024
    );
    Trouble::new(FaultKind::TooLarge, message)
}
