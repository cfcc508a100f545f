//! How each part of the lab listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

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
