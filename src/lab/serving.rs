//! How each part of the lab listens, and how one asks another.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::tls;

/// A client of other parts of the lab.
pub(super) fn client() -> reqwest::ClientBuilder {
    // Nothing here speaks TLS, but the client insists on a provider.
    tls::install_provider();
    reqwest::Client::builder().no_proxy().tls_certs_only([])
}

/// Serves a router on a free loopback port until told to stop.
pub(super) async fn serve(router: Router, stop: CancellationToken) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            // Serving ends only with the lab.
            _ = axum::serve(listener, router) => {}
        }
    });
    Ok(address)
}
