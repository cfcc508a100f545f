//! The service's `/metrics`: vLLM's dialect beside its own stages and its Redis client's numbers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::batcher::QUEUE;
use super::feature_store::POOL;
use super::{Service, lock};
use crate::lab::exposition::Page;
use crate::lab::process::write_process;

/// The labels of vLLM's series.
const MODEL: &str = "model_name=\"ranker-v2\",engine=\"0\"";

/// What one request holds of the model's cache, as a share of all.
const CACHE_PER_REQUEST: f64 = 0.02;

impl Service {
    /// The page.
    pub(super) fn page(&self) -> String {
        let mut page = Page::default();
        self.write_requests(&mut page);
        self.write_model(&mut page);
        self.write_breaker(&mut page);
        self.write_redis(&mut page);
        write_process(&mut page, self.started);
        page.into_text()
    }

    fn write_requests(&self, page: &mut Page) {
        page.family("http_request_duration_seconds", "histogram", "Duration of HTTP requests.");
        let answers: Vec<_> =
            lock(&self.answers).iter().map(|(status, recorder)| (*status, Arc::clone(recorder))).collect();
        for (status, recorder) in answers {
            let labels = format!("method=\"POST\",handler=\"/v1/rank\",status=\"{status}\"");
            page.histogram("http_request_duration_seconds", &labels, &recorder.histogram());
        }
        page.family("inference_stage_duration_seconds", "histogram", "Duration of a request's stages.");
        for (stage, recorder) in &self.stages {
            let labels = format!("stage=\"{stage}\"");
            page.histogram("inference_stage_duration_seconds", &labels, &recorder.histogram());
        }
        let in_flight = self.in_flight.load(Ordering::Relaxed) as f64;
        page.single("http_server_active_requests", "gauge", "Requests being served.", "", in_flight);
    }

    fn write_model(&self, page: &mut Page) {
        let counts = &self.batcher.counts;
        let waiting = counts.waiting.load(Ordering::Relaxed) as f64;
        let running = counts.running.load(Ordering::Relaxed) as f64;
        let cache = running * CACHE_PER_REQUEST;
        let gauges = [
            ("vllm:num_requests_running", "Number of requests in model execution batches.", running),
            ("vllm:num_requests_waiting", "Number of requests waiting to be processed.", waiting),
            ("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", cache),
        ];
        for (name, help, value) in gauges {
            page.single(name, "gauge", help, MODEL, value);
        }
        let cache_labels = "block_size=\"16\",cache_dtype=\"auto\",engine=\"0\",num_gpu_blocks=\"8192\"";
        page.single(
            "vllm:cache_config_info",
            "gauge",
            "Information of the LLMEngine CacheConfig",
            cache_labels,
            1.0,
        );
        let histograms = [
            (
                "vllm:e2e_request_latency_seconds",
                "Histogram of e2e request latency in seconds.",
                &counts.end_to_end,
            ),
            (
                "vllm:time_to_first_token_seconds",
                "Histogram of time to first token in seconds.",
                &counts.first_token,
            ),
        ];
        for (name, help, recorder) in histograms {
            page.family(name, "histogram", help);
            page.histogram(name, MODEL, &recorder.histogram());
        }
        page.family("vllm:request_success_total", "counter", "Count of successfully processed requests.");
        let stop = format!("{MODEL},finished_reason=\"stop\"");
        page.sample("vllm:request_success_total", &stop, counts.served.load(Ordering::Relaxed) as f64);
        page.single("inference_queue_capacity", "gauge", "Requests that may wait.", "", QUEUE as f64);
        let rejected = counts.rejected.load(Ordering::Relaxed) as f64;
        page.single(
            "inference_queue_rejected_total",
            "counter",
            "Requests that found the queue full.",
            "",
            rejected,
        );
        page.family("inference_batch_size", "histogram", "Requests in a batch.");
        page.histogram("inference_batch_size", "", &counts.sizes.histogram());
    }

    fn write_breaker(&self, page: &mut Page) {
        let breaker = &self.batcher.model().breaker;
        page.family("resilience4j_circuitbreaker_state", "gauge", "The states of the circuit breaker.");
        let now = breaker.state();
        for state in ["closed", "half_open", "open"] {
            let labels = format!("name=\"model\",state=\"{state}\"");
            page.sample("resilience4j_circuitbreaker_state", &labels, f64::from(u8::from(state == now)));
        }
        let refused = breaker.refused.load(Ordering::Relaxed) as f64;
        page.single(
            "resilience4j_circuitbreaker_not_permitted_calls_total",
            "counter",
            "The number of calls that the breaker did not permit.",
            "kind=\"not_permitted\",name=\"model\"",
            refused,
        );
    }

    fn write_redis(&self, page: &mut Page) {
        let store = &self.store;
        page.family(
            "db_client_operation_duration_seconds",
            "histogram",
            "Duration of database client operations.",
        );
        let counts = &store.counts;
        let operations = [("GET", &counts.reads), ("MGET", &counts.reads_together), ("SET", &counts.writes)];
        for (operation, recorder) in operations {
            let labels = format!("db_system_name=\"redis\",db_operation_name=\"{operation}\"");
            page.histogram("db_client_operation_duration_seconds", &labels, &recorder.histogram());
        }
        page.family(
            "db_client_connection_wait_time_seconds",
            "histogram",
            "Time to obtain a connection from the pool.",
        );
        let pool = "db_client_connection_pool_name=\"features\"";
        page.histogram("db_client_connection_wait_time_seconds", pool, &store.counts.waits.histogram());
        page.family("db_client_connection_count", "gauge", "Connections by state.");
        for (state, count) in [("used", store.used()), ("idle", store.idle())] {
            let labels = format!("{pool},db_client_connection_state=\"{state}\",state=\"{state}\"");
            page.sample("db_client_connection_count", &labels, count as f64);
        }
        let gauges = [
            ("db_client_connection_max", "The maximum number of open connections allowed.", POOL),
            (
                "db_client_connection_pending_requests",
                "Requests that wait for a connection.",
                store.waiting(),
            ),
        ];
        for (name, help, value) in gauges {
            page.single(name, "gauge", help, pool, value as f64);
        }
        let pool_timeouts = store.counts.pool_timeouts.load(Ordering::Relaxed) as f64;
        page.single(
            "db_client_connection_timeouts_total",
            "counter",
            "Waits for a connection that were given up.",
            pool,
            pool_timeouts,
        );
        let timeouts = store.counts.timeouts.load(Ordering::Relaxed) as f64;
        let help = "Commands that Redis did not answer in time.";
        page.single("redis_command_timeouts_total", "counter", help, "", timeouts);
        page.family("feature_compute_duration_seconds", "histogram", "Time to compute features anew.");
        page.histogram("feature_compute_duration_seconds", "", &self.computed.histogram());
    }
}
