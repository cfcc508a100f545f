//! The users: an open-loop load generator. Requests come when users want something, not when an earlier answer
//! is there; so a slow service is not spared.

mod retries;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use self::retries::{Again, Retries};
use super::LabError;
use super::counters::LoadCounters;
use super::exposition::FINE;
use super::features::{HotPair, ITEMS, USERS};
use super::process::Started;
use super::service::RankRequest;
use super::serving::{client, serve};

/// Pages from which requests come.
const ROUTES: &[&str] = &["home", "search", "detail"];

/// The running generator.
#[derive(Debug)]
pub(super) struct Load {
    traffic: Mutex<Traffic>,
    client: reqwest::Client,
    url: String,
    retries: Retries,
    counts: Counts,
    registry: Registry,
}

/// What users want.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    /// Requests a second.
    rate: f64,
    campaign: Option<Campaign>,
}

/// A campaign that sends users to one pair of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Campaign {
    /// The pair.
    pub(super) pair: HotPair,
    /// Requests a second for the pair; they are part of all requests and add none.
    pub(super) rate: f64,
    /// Share of the other requests that ask for the pair's item.
    pub(super) item_share: f64,
}

#[derive(Debug)]
struct Counts {
    originals: Counter,
    attempts: Counter,
    successes: Counter,
    timeouts: AtomicU64,
    duration: Histogram,
}

impl Load {
    /// Starts sending to the service, `rate` requests a second, until told to stop; answers where its `/metrics`
    /// listens.
    pub(super) async fn start(
        service: SocketAddr,
        rate: f64,
        retries: Retries,
        seed: u64,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, SocketAddr), LabError> {
        let client = client()
            .timeout(retries.timeout)
            .build()
            .map_err(|error| LabError::part("the load generator", std::io::Error::other(error)))?;
        let counts = Counts {
            originals: Counter::default(),
            attempts: Counter::default(),
            successes: Counter::default(),
            timeouts: AtomicU64::new(0),
            duration: Histogram::new(FINE.iter().copied()),
        };
        let registry = register(&counts);
        let traffic = Mutex::new(Traffic { rate, campaign: None });
        let url = format!("http://{service}/v1/rank");
        let load = Arc::new(Self { traffic, client, url, retries, counts, registry });
        let router = Router::new().route("/metrics", get(metrics)).with_state(Arc::clone(&load));
        let address =
            serve(router, stop.clone()).await.map_err(|error| LabError::part("the load generator", error))?;
        let sending = Arc::clone(&load);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = sending.send_all(seed) => {}
            }
        });
        Ok((load, address))
    }

    /// From now on users come this many times as often.
    pub(super) fn surge(&self, times: f64) {
        self.lock().rate *= times;
    }

    /// From now on a campaign runs.
    pub(super) fn begin(&self, campaign: Campaign) {
        self.lock().campaign = Some(campaign);
    }

    /// What was counted so far.
    pub(super) fn counters(&self) -> LoadCounters {
        LoadCounters {
            originals: self.counts.originals.get(),
            attempts: self.counts.attempts.get(),
            successes: self.counts.successes.get(),
            timeouts: self.counts.timeouts.load(Ordering::Relaxed),
        }
    }

    async fn send_all(self: Arc<Self>, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed ^ 0x10ad);
        let mut next = Instant::now();
        loop {
            tokio::time::sleep_until(next).await;
            let traffic = *self.lock();
            let request = traffic.draw(&mut random);
            let chance = random.random();
            tokio::spawn(Arc::clone(&self).send(request, chance));
            // Arrivals are independent of each other: exponential gaps. They are counted from when the last one
            // was due, so that a late timer changes no rate.
            let gap = -(1.0 - random.random::<f64>()).ln() / traffic.rate;
            next += Duration::from_secs_f64(gap);
        }
    }

    async fn send(self: Arc<Self>, request: RankRequest, chance: f64) {
        self.counts.originals.inc();
        let begun = Instant::now();
        let mut status = self.attempt(&request).await;
        let mut done = 0;
        while let Some(pause) = self.retries.pause(done, status, chance) {
            tokio::time::sleep(pause).await;
            status = self.attempt(&request).await;
            done += 1;
        }
        self.counts.duration.observe(begun.elapsed().as_secs_f64());
        if status == Some(StatusCode::OK) {
            self.counts.successes.inc();
        }
    }

    async fn attempt(&self, request: &RankRequest) -> Option<StatusCode> {
        self.counts.attempts.inc();
        let Ok(body) = serde_json::to_vec(request) else { return None };
        let sent = self.client.post(&self.url).header(header::CONTENT_TYPE, "application/json").body(body);
        let answer = async {
            let response = sent.send().await?;
            let status = response.status();
            // Read to its end, so that the connection can be used again.
            response.bytes().await?;
            Ok::<_, reqwest::Error>(status)
        };
        match answer.await {
            Ok(status) => Some(status),
            Err(error) => {
                if error.is_timeout() {
                    self.counts.timeouts.fetch_add(1, Ordering::Relaxed);
                }
                None
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Traffic {
    fn draw(&self, random: &mut StdRng) -> RankRequest {
        let mut request = RankRequest {
            user: random.random_range(0..USERS),
            item: random.random_range(0..ITEMS),
            route: ROUTES[random.random_range(0..ROUTES.len())].to_owned(),
        };
        // Drawn in any case: the same seed gives the same users with and without a campaign.
        let (which, item) = (random.random::<f64>(), random.random::<f64>());
        if let Some(campaign) = &self.campaign {
            let is_hot = which < campaign.rate / self.rate;
            if is_hot {
                request.user = campaign.pair.user;
            }
            if is_hot || item < campaign.item_share {
                request.item = campaign.pair.item;
            }
        }
        request
    }
}

fn register(counts: &Counts) -> Registry {
    let mut registry = Registry::default();
    registry.register("client_requests", "Requests that users wanted", counts.originals.clone());
    registry.register("client_attempts", "Requests sent, repeated ones included", counts.attempts.clone());
    registry.register("client_successes", "Requests answered well in the end", counts.successes.clone());
    registry.register_with_unit(
        "http_client_request_duration",
        "Duration of users' requests, repetitions included",
        Unit::Seconds,
        counts.duration.clone(),
    );
    let start = Gauge::<f64, AtomicU64>::default();
    start.set(Started::now().seconds());
    registry.register_with_unit(
        "process_start_time",
        "Start of the process since the epoch",
        Unit::Seconds,
        start,
    );
    registry
}

async fn metrics(State(load): State<Arc<Load>>) -> Response {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &load.registry);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_changes_what_is_asked_and_not_how_much() {
        let pair = HotPair { user: 7, item: 9, shard: 0 };
        let campaign = Campaign { pair, rate: 20.0, item_share: 0.3 };
        let drawn = |campaign| {
            let mut random = StdRng::seed_from_u64(3);
            let traffic = Traffic { rate: 100.0, campaign };
            (0..10_000).map(|_| traffic.draw(&mut random)).collect::<Vec<_>>()
        };
        let (before, during) = (drawn(None), drawn(Some(campaign)));
        let hot = during.iter().filter(|request| request.user == 7).count() as f64 / 10_000.0;
        let hot_item = during.iter().filter(|request| request.item == 9).count() as f64 / 10_000.0;
        assert!((hot - 0.2).abs() < 0.02, "{hot}");
        assert!((hot_item - 0.44).abs() < 0.02, "{hot_item}");
        let others = before.iter().zip(&during).filter(|(_, during)| during.user != 7);
        assert!(others.into_iter().all(|(before, during)| before.user == during.user));
    }
}
