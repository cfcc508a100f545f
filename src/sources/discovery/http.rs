//! Lists of targets that HTTP servers give, as Prometheus' `http_sd`.

use headwater_engine::reading::FaultKind;

use super::Trouble;
use super::list::{Group, LONGEST_LIST, Syntax, groups};
use crate::sources::metrics::fetch::{Address, Fetcher};

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
