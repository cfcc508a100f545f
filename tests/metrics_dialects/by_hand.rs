//! Real pages, read a second time and in another way: lines are looked for by name and labels, and what the last word
//! of each says is added up here, so that a mistake of decoder and mapper does not prove itself.

use std::collections::BTreeMap;

use headwater_engine::reading::{Sample, Value};

use crate::{known, real, spoken};

/// How a number comes of the lines of a page, and what it is with us.
#[derive(Clone, Copy)]
enum How {
    /// A level: the sum of the lines.
    Level,
    /// A level: the largest of the lines.
    Largest,
    /// A level: the lines before the `/` of the series, over those after it.
    Share,
    /// A total: the sum of the lines.
    Total,
    /// A histogram with the buckets, the count and the sum of the page.
    Buckets,
    /// A histogram without buckets: a sum before the `/` of the series, the number of events after it.
    Mean,
    /// A level that stands on the page as a code or state: what it means.
    Means(f64),
}

use How::{Buckets, Largest, Level, Mean, Means, Share, Total};

/// Subject, metric, part; how it is read, what the page's unit is in ours, the series, what their labels hold.
type Row = (&'static str, &'static str, &'static str, How, f64, &'static str, &'static [&'static str]);

struct Page {
    file: &'static str,
    dialects: &'static [&'static str],
    rows: &'static [Row],
}

const QUEUE: &str = "queue/ranker@127.0.0.1:8000";
const SERVICE: &str = "service/ranker@127.0.0.1:8000";
const GATEWAY: &str = "gateway/ranker@127.0.0.1:8000";
const REDIS: &str = "redis/ranker@127.0.0.1:8000";
const TTFT: &str = "gen_ai.server.time_to_first_token";
const HTTP: &str = "http.server.request.duration";

const MILLI: f64 = 1e-3;
const MICRO: f64 = 1e-6;
const MEGA: f64 = 1e6;
const MEBI: f64 = 1_048_576.0;

/// What every page of a vLLM engine under load says, however its lines end.
const VLLM: &[Row] = &[
    (QUEUE, "queue.waiting", "", Level, 1.0, "vllm:num_requests_waiting", &[]),
    (QUEUE, "queue.running", "", Level, 1.0, "vllm:num_requests_running", &[]),
    (
        QUEUE,
        "queue.waiting.reason",
        "deferred",
        Level,
        1.0,
        "vllm:num_requests_waiting_by_reason",
        &["reason=\"deferred\""],
    ),
    (QUEUE, "gen_ai.kv_cache.usage", "", Largest, 1.0, "vllm:kv_cache_usage_perc", &[]),
    (QUEUE, "gen_ai.preemptions", "", Total, 1.0, "vllm:num_preemptions_total", &[]),
    (QUEUE, "queue.rejected", "", Total, 1.0, "vllm:admission_rejections_total", &[]),
    (SERVICE, "service.requests", "", Total, 1.0, "vllm:request_success_total", &[]),
    (SERVICE, "service.requests.aborted", "", Total, 1.0, "vllm:request_success_total", &["\"abort\""]),
    (SERVICE, "service.errors", "", Total, 1.0, "vllm:request_success_total", &["\"abort\"|\"error\""]),
    (SERVICE, "gen_ai.prefix_cache.hits", "", Total, 1.0, "vllm:prefix_cache_hits_total", &[]),
    (SERVICE, "gen_ai.prefix_cache.lookups", "", Total, 1.0, "vllm:prefix_cache_queries_total", &[]),
    (SERVICE, "gen_ai.tokens.input", "", Total, 1.0, "vllm:prompt_tokens_total", &[]),
    (SERVICE, "gen_ai.tokens.output", "", Total, 1.0, "vllm:generation_tokens_total", &[]),
];

const PAGES: &[Page] = &[
    Page {
        file: "dcgm-2-readme.prom",
        dialects: &["dcgm"],
        rows: &[
            ("gpu/127.0.0.1:0", "gpu.clock.sm", "", Largest, MEGA, "DCGM_FI_DEV_SM_CLOCK", &[]),
            ("gpu/127.0.0.1:0", "gpu.clock.memory", "", Largest, MEGA, "DCGM_FI_DEV_MEM_CLOCK", &[]),
        ],
    },
    Page {
        file: "dcgm-4-h100x8-template-generated.prom",
        dialects: &["dcgm"],
        rows: &[
            (
                "gpu/gpu-node-a:5",
                "gpu.utilization",
                "",
                Level,
                1.0,
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                &["gpu=\"5\""],
            ),
            ("gpu/gpu-node-a:5", "gpu.xid", "", Level, 1.0, "DCGM_FI_DEV_XID_ERRORS", &["gpu=\"5\""]),
            (
                "gpu/gpu-node-a:5",
                "gpu.xid.events",
                "48",
                Level,
                1.0,
                "DCGM_EXP_XID_ERRORS_COUNT",
                &["gpu=\"5\"", "xid=\"48\""],
            ),
            ("gpu/gpu-node-a:5", "gpu.temperature", "", Level, 1.0, "DCGM_FI_DEV_GPU_TEMP", &["gpu=\"5\""]),
            ("gpu/gpu-node-a:5", "gpu.clock.sm", "", Level, MEGA, "DCGM_FI_DEV_SM_CLOCK", &["gpu=\"5\""]),
            ("gpu/gpu-node-a:5", "gpu.power", "", Level, 1.0, "DCGM_FI_DEV_POWER_USAGE", &["gpu=\"5\""]),
            (
                "gpu/gpu-node-a:5",
                "gpu.pcie.replays",
                "",
                Total,
                1.0,
                "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                &["gpu=\"5\""],
            ),
            ("gpu/gpu-node-a:5", "gpu.memory.used", "", Level, MEBI, "DCGM_FI_DEV_FB_USED", &["gpu=\"5\""]),
            (
                "gpu/gpu-node-a:5",
                "gpu.memory.max",
                "",
                Level,
                MEBI,
                "DCGM_FI_DEV_FB_USED+DCGM_FI_DEV_FB_FREE",
                &["gpu=\"5\""],
            ),
            (
                "gpu/gpu-node-a:7-mig-9",
                "gpu.memory.used",
                "",
                Level,
                MEBI,
                "DCGM_FI_DEV_FB_USED",
                &["GPU_I_ID=\"9\""],
            ),
        ],
    },
    Page {
        file: "haproxy-3-local-overload.prom",
        dialects: &["haproxy"],
        rows: &[
            (
                GATEWAY,
                "service.requests",
                "",
                Total,
                1.0,
                "haproxy_frontend_http_requests_total",
                &["llm_gw"],
            ),
            (
                GATEWAY,
                "service.errors",
                "",
                Total,
                1.0,
                "haproxy_frontend_http_responses_total",
                &["llm_gw", "5xx"],
            ),
            (
                GATEWAY,
                "http.server.request.duration.mean",
                "",
                Level,
                1.0,
                "haproxy_backend_total_time_average_seconds",
                &["vllm_pool"],
            ),
            (
                GATEWAY,
                "http.server.request.duration.max",
                "",
                Level,
                1.0,
                "haproxy_backend_max_total_time_seconds",
                &["vllm_pool"],
            ),
            (
                GATEWAY,
                "gateway.upstream.active",
                "vllm_pool/vllm-0",
                Level,
                1.0,
                "haproxy_server_current_sessions",
                &["\"vllm-0\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.ready",
                "vllm_pool/vllm-0",
                Level,
                1.0,
                "haproxy_server_status",
                &["\"vllm-0\"", "\"UP\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.ready",
                "vllm_pool/vllm-2",
                Level,
                1.0,
                "haproxy_server_status",
                &["\"vllm-2\"", "\"UP\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.ejected",
                "vllm_pool/vllm-2",
                Level,
                1.0,
                "haproxy_server_status",
                &["\"vllm-2\"", "\"DOWN\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.members.healthy",
                "vllm_pool",
                Level,
                1.0,
                "haproxy_backend_active_servers",
                &["vllm_pool"],
            ),
        ],
    },
    Page {
        file: "ingress-nginx-2-from-tests.prom",
        dialects: &["ingress-nginx"],
        rows: &[
            (GATEWAY, "service.requests", "", Total, 1.0, "nginx_ingress_controller_requests", &[]),
            (
                GATEWAY,
                "gateway.connections",
                "",
                Level,
                1.0,
                "nginx_ingress_controller_nginx_process_connections",
                &["\"active\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.duration",
                "test-app-qa/test-app-qa",
                Buckets,
                1.0,
                "nginx_ingress_controller_response_duration_seconds",
                &["service=\"test-app-qa\""],
            ),
        ],
    },
    Page {
        file: "istio-1-waypoint-minimal.prom",
        dialects: &["istio"],
        rows: &[
            (GATEWAY, "gateway.upstream.requests", "", Total, 1.0, "istio_requests_total", &[]),
            (
                GATEWAY,
                "gateway.upstream.errors",
                "",
                Total,
                1.0,
                "istio_requests_total",
                &["response_code=\"5"],
            ),
            (GATEWAY, HTTP, "", Buckets, MILLI, "istio_request_duration_milliseconds", &[]),
        ],
    },
    Page {
        file: "kafka_exporter-1-readme.prom",
        dialects: &["kafka-lag"],
        rows: &[(
            "kafka/KMOffsetCache-kafka-manager-3806276532-ml44w",
            "kafka.consumer.lag",
            "__consumer_offsets",
            Level,
            1.0,
            "kafka_consumergroup_lag",
            &[],
        )],
    },
    Page {
        file: "kminion-1-docs.prom",
        dialects: &["kafka-lag"],
        rows: &[(
            "kafka/bigquery-sink",
            "kafka.consumer.lag",
            "shop-activity",
            Level,
            1.0,
            "kminion_kafka_consumer_group_topic_lag",
            &[],
        )],
    },
    Page {
        file: "litellm-1-v1.110-generated.prom",
        dialects: &["litellm"],
        rows: &[
            (GATEWAY, "service.requests", "", Total, 1.0, "litellm_proxy_total_requests_metric_total", &[]),
            (GATEWAY, HTTP, "", Buckets, 1.0, "litellm_request_total_latency_metric", &[]),
            (SERVICE, TTFT, "", Buckets, 1.0, "litellm_llm_api_time_to_first_token_metric", &[]),
            (
                GATEWAY,
                "gateway.upstream.requests",
                "c77aa1",
                Total,
                1.0,
                "litellm_deployment_total_requests_total",
                &["\"c77aa1\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.ejections",
                "b3f1e0",
                Total,
                1.0,
                "litellm_deployment_cooled_down_total",
                &["\"b3f1e0\""],
            ),
            (
                GATEWAY,
                "gateway.upstream.ready",
                "b3f1e0",
                Means(1.0),
                1.0,
                "litellm_deployment_state",
                &["\"b3f1e0\"", " 0.0"],
            ),
            (
                GATEWAY,
                "gateway.upstream.ready",
                "c77aa1",
                Means(0.0),
                1.0,
                "litellm_deployment_state",
                &["\"c77aa1\"", " 2.0"],
            ),
            (GATEWAY, "service.cache.hits", "responses", Total, 1.0, "litellm_cache_hits_metric_total", &[]),
            (
                GATEWAY,
                "service.cache.lookups",
                "responses",
                Total,
                1.0,
                "litellm_cache_hits_metric_total+litellm_cache_misses_metric_total",
                &[],
            ),
        ],
    },
    Page {
        file: "nginx-exporter-1-local.prom",
        dialects: &["nginx-exporter"],
        rows: &[
            (GATEWAY, "service.requests", "", Total, 1.0, "nginx_http_requests_total", &[]),
            (GATEWAY, "gateway.connections", "", Level, 1.0, "nginx_connections_active", &[]),
            (GATEWAY, "service.ready", "", Level, 1.0, "nginx_up", &[]),
        ],
    },
    Page {
        file: "nim-1-llama-3.1-8b.prom",
        dialects: &["nim", "process"],
        rows: &[
            (QUEUE, "queue.running", "", Level, 1.0, "num_requests_running", &[]),
            (QUEUE, "queue.batch_size.max", "", Level, 1.0, "num_request_max", &[]),
            (QUEUE, "gen_ai.kv_cache.usage", "", Largest, 1.0, "gpu_cache_usage_perc", &[]),
            (SERVICE, TTFT, "", Buckets, 1.0, "time_to_first_token_seconds", &[]),
            (SERVICE, "gen_ai.server.request.duration", "", Buckets, 1.0, "e2e_request_latency_seconds", &[]),
            (SERVICE, "gen_ai.tokens.input", "", Total, 1.0, "prompt_tokens_total", &[]),
        ],
    },
    Page {
        file: "nvidia_gpu_exporter-1-h200-load.prom",
        dialects: &["nvidia-smi"],
        rows: &[
            ("gpu/127.0.0.1:0", "gpu.utilization", "", Level, 1.0, "nvidia_smi_utilization_gpu_ratio", &[]),
            ("gpu/127.0.0.1:0", "gpu.memory.max", "", Level, 1.0, "nvidia_smi_memory_total_bytes", &[]),
            ("gpu/127.0.0.1:0", "gpu.power", "", Level, 1.0, "nvidia_smi_power_draw_watts", &[]),
            ("gpu/127.0.0.1:0", "gpu.clock.sm", "", Level, 1.0, "nvidia_smi_clocks_current_sm_clock_hz", &[]),
            ("gpu/127.0.0.1:0", "gpu.clock.sm.max", "", Level, 1.0, "nvidia_smi_clocks_max_sm_clock_hz", &[]),
            ("gpu/127.0.0.1:0", "gpu.pcie.width", "", Level, 1.0, "nvidia_smi_pcie_link_width_current", &[]),
            (
                "gpu/127.0.0.1:0",
                "gpu.process.memory",
                "10309 ./gpu_burn",
                Level,
                1.0,
                "nvidia_smi_compute_app_used_memory_bytes",
                &["pid=\"10309\""],
            ),
        ],
    },
    Page { file: "odd-10-crlf-vllm.prom", dialects: &["vllm", "process"], rows: VLLM },
    Page { file: "odd-11-truncated-mid-line.prom", dialects: &["vllm", "process"], rows: VLLM },
    Page {
        file: "odd-2-expfmt-text.prom",
        dialects: &["http-server", "process"],
        rows: &[
            (SERVICE, "service.requests", "", Total, 1.0, "http_requests_total", &[]),
            (SERVICE, "service.errors", "", Total, 1.0, "http_requests_total", &["code=\"5"]),
            (SERVICE, "process.start_time", "", Level, 1.0, "process_start_time_seconds", &[]),
        ],
    },
    Page { file: "odd-4-openmetrics-alltypes.prom", dialects: &[], rows: &[] },
    Page {
        file: "odd-7-openmetrics-exemplars.prom",
        dialects: &["generic"],
        rows: &[
            (SERVICE, HTTP, "", Buckets, 1.0, "request_duration_seconds", &[]),
            (SERVICE, "service.requests", "", Total, 1.0, "requests_total", &[]),
            (SERVICE, "service.errors", "", Total, 1.0, "requests_total", &["code=\"503\""]),
        ],
    },
    Page {
        file: "odd-8-utf8-names-text.prom",
        dialects: &["http-server", "opentelemetry-genai", "generic"],
        rows: &[
            (SERVICE, TTFT, "", Buckets, 1.0, "gen_ai.server.time_to_first_token", &[]),
            (SERVICE, "service.requests", "", Total, 1.0, "http.server.requests_total", &[]),
            (SERVICE, "service.errors", "", Total, 1.0, "http.server.requests_total", &["\"503\""]),
            (QUEUE, "queue.waiting", "", Level, 1.0, "gen_ai.server.queue.depth", &[]),
        ],
    },
    Page {
        file: "otel-genai-1-python-sdk.prom",
        dialects: &["http-server", "opentelemetry-genai", "process"],
        rows: &[
            (SERVICE, TTFT, "", Buckets, 1.0, "gen_ai_server_time_to_first_token_seconds", &[]),
            (SERVICE, "gen_ai.tokens.input", "", Total, 1.0, "gen_ai_client_token_usage_sum", &["\"input\""]),
            (
                SERVICE,
                "gen_ai.tokens.output",
                "",
                Total,
                1.0,
                "gen_ai_client_token_usage_sum",
                &["\"output\""],
            ),
            (SERVICE, "service.requests", "", Total, 1.0, "http_server_request_duration_seconds_count", &[]),
            (
                SERVICE,
                "service.errors",
                "",
                Total,
                1.0,
                "http_server_request_duration_seconds_count",
                &["code=\"5"],
            ),
            (SERVICE, "service.requests.active", "", Level, 1.0, "http_server_active_requests", &[]),
        ],
    },
    Page {
        file: "ray-serve-2-serve-only.prom",
        dialects: &["ray-serve"],
        rows: &[
            (QUEUE, "queue.waiting", "", Level, 1.0, "ray_serve_deployment_queued_queries", &[]),
            (QUEUE, "queue.running", "", Level, 1.0, "ray_serve_replica_processing_queries", &[]),
            (QUEUE, "queue.wait", "", Buckets, MILLI, "ray_serve_batch_wait_time_ms", &[]),
            (SERVICE, HTTP, "", Buckets, MILLI, "ray_serve_http_request_latency_ms", &[]),
            (SERVICE, "service.requests", "", Total, 1.0, "ray_serve_num_http_requests_total", &[]),
            (SERVICE, "service.errors", "", Total, 1.0, "ray_serve_num_http_error_requests_total", &[]),
            (
                SERVICE,
                "service.instances.ready",
                "Model",
                Level,
                1.0,
                "ray_serve_deployment_replica_healthy",
                &["deployment=\"Model\""],
            ),
            (SERVICE, "service.requests.active", "", Level, 1.0, "ray_serve_num_ongoing_http_requests", &[]),
        ],
    },
    Page {
        file: "redis_exporter-1-local.prom",
        dialects: &["redis-exporter", "process"],
        rows: &[
            (REDIS, "redis.keys.evicted", "", Total, 1.0, "redis_evicted_keys_total", &[]),
            (REDIS, "redis.keyspace.hits", "", Total, 1.0, "redis_keyspace_hits_total", &[]),
            (REDIS, "redis.keyspace.misses", "", Total, 1.0, "redis_keyspace_misses_total", &[]),
            (REDIS, "redis.memory.max", "", Level, 1.0, "redis_memory_max_bytes", &[]),
            (
                REDIS,
                "redis.clients.connected",
                "",
                Level,
                1.0,
                "redis_connected_clients+redis_connected_slaves",
                &[],
            ),
            (REDIS, "redis.command.calls", "get", Total, 1.0, "redis_commands_total", &["cmd=\"get\""]),
            (
                REDIS,
                "redis.command.time",
                "get",
                Total,
                1.0,
                "redis_commands_duration_seconds_total",
                &["cmd=\"get\""],
            ),
            (REDIS, "redis.commands", "", Total, 1.0, "redis_commands_processed_total", &[]),
            (REDIS, "redis.keys", "", Level, 1.0, "redis_db_keys", &[]),
        ],
    },
    Page {
        file: "sglang-2-v0.5.23-generated-overload.prom",
        dialects: &["sglang"],
        rows: &[
            (QUEUE, "queue.waiting", "", Level, 1.0, "sglang:num_queue_reqs", &[]),
            (QUEUE, "queue.running", "", Level, 1.0, "sglang:num_running_reqs", &[]),
            (QUEUE, "gen_ai.kv_cache.usage", "", Largest, 1.0, "sglang:token_usage", &[]),
            (QUEUE, "gen_ai.preemptions", "", Total, 1.0, "sglang:num_retracted_requests_total", &[]),
            (
                SERVICE,
                TTFT,
                "",
                Buckets,
                1.0,
                "sglang:time_to_first_token_seconds",
                &["is_streaming=\"true\""],
            ),
            (SERVICE, "service.requests", "", Total, 1.0, "sglang:http_responses_total", &[]),
            (SERVICE, "service.requests.aborted", "", Total, 1.0, "sglang:num_aborted_requests_total", &[]),
            (SERVICE, "service.requests.active", "", Level, 1.0, "sglang:http_requests_active", &[]),
            (SERVICE, "gen_ai.prefix_cache.hits", "", Total, 1.0, "sglang:cached_tokens_total", &[]),
            (SERVICE, "gen_ai.prefix_cache.lookups", "", Total, 1.0, "sglang:prompt_tokens_total", &[]),
        ],
    },
    Page {
        file: "tgi-1-v3-generated.prom",
        dialects: &["tgi"],
        rows: &[
            (QUEUE, "queue.waiting", "", Level, 1.0, "tgi_queue_size", &[]),
            (QUEUE, "queue.running", "", Level, 1.0, "tgi_batch_current_size", &[]),
            (QUEUE, "queue.rejected", "", Total, 1.0, "tgi_request_failure", &["overloaded"]),
            (
                QUEUE,
                "gen_ai.kv_cache.usage",
                "",
                Share,
                1.0,
                "tgi_batch_current_max_tokens/tgi_batch_max_total_tokens",
                &[],
            ),
            (QUEUE, "queue.batch_size", "", Buckets, 1.0, "tgi_batch_next_size", &[]),
            (QUEUE, "queue.wait", "", Buckets, 1.0, "tgi_request_queue_duration", &[]),
            (SERVICE, "gen_ai.server.request.duration", "", Buckets, 1.0, "tgi_request_duration", &[]),
            (SERVICE, "service.requests", "", Total, 1.0, "tgi_request_count", &[]),
            (SERVICE, "gen_ai.tokens.output", "", Total, 1.0, "tgi_request_generated_tokens_sum", &[]),
        ],
    },
    Page {
        file: "torchserve-1-docs.prom",
        dialects: &["torchserve"],
        rows: &[
            (
                SERVICE,
                HTTP,
                "",
                Mean,
                MICRO,
                "ts_inference_latency_microseconds/ts_inference_requests_total",
                &[],
            ),
            (
                QUEUE,
                "queue.wait",
                "",
                Mean,
                MICRO,
                "ts_queue_latency_microseconds/ts_inference_requests_total",
                &[],
            ),
            (SERVICE, "service.requests", "", Total, 1.0, "ts_inference_requests_total", &[]),
        ],
    },
    Page {
        file: "triton-1-densenet.prom",
        dialects: &["triton"],
        rows: &[
            (
                SERVICE,
                HTTP,
                "",
                Mean,
                MICRO,
                "nv_inference_request_duration_us/nv_inference_request_success",
                &[],
            ),
            (
                QUEUE,
                "queue.wait",
                "",
                Mean,
                MICRO,
                "nv_inference_queue_duration_us/nv_inference_request_success",
                &[],
            ),
            (
                SERVICE,
                "service.stage.duration",
                "compute_infer",
                Mean,
                MICRO,
                "nv_inference_compute_infer_duration_us/nv_inference_request_success",
                &[],
            ),
            (SERVICE, "service.requests", "", Total, 1.0, "nv_inference_request_success", &[]),
            (
                "gpu/127.0.0.1:GPU-951eeeeb-d284-d263-688e-d98a5306389b",
                "gpu.power",
                "",
                Level,
                1.0,
                "nv_gpu_power_usage",
                &[],
            ),
            (
                "gpu/127.0.0.1:GPU-951eeeeb-d284-d263-688e-d98a5306389b",
                "gpu.memory.max",
                "",
                Level,
                1.0,
                "nv_gpu_memory_total_bytes",
                &[],
            ),
        ],
    },
    Page {
        file: "triton-3-docs.prom",
        dialects: &["triton"],
        rows: &[
            (
                QUEUE,
                "queue.wait",
                "",
                Mean,
                MICRO,
                "nv_inference_queue_duration_us/nv_inference_request_success",
                &[],
            ),
            (SERVICE, "service.requests", "", Total, 1.0, "nv_inference_request_success", &[]),
            (
                SERVICE,
                TTFT,
                "",
                Mean,
                MILLI,
                "nv_inference_first_response_histogram_ms_sum/nv_inference_first_response_histogram_ms_count",
                &[],
            ),
        ],
    },
    Page { file: "vllm-2-v0.33-generated-overload.prom", dialects: &["vllm", "process"], rows: VLLM },
    Page {
        file: "vllm-2-v0.33-generated-overload.prom",
        dialects: &["vllm", "process"],
        rows: &[
            (SERVICE, TTFT, "", Buckets, 1.0, "vllm:time_to_first_token_seconds", &[]),
            (
                SERVICE,
                "gen_ai.server.request.duration",
                "",
                Buckets,
                1.0,
                "vllm:e2e_request_latency_seconds",
                &[],
            ),
            (QUEUE, "queue.wait", "", Buckets, 1.0, "vllm:request_queue_time_seconds", &[]),
            (SERVICE, "gen_ai.step.tokens", "", Buckets, 1.0, "vllm:iteration_tokens_total", &[]),
        ],
    },
    Page {
        file: "vllm-3-ray-v0-2024.prom",
        dialects: &["vllm"],
        rows: &[
            (QUEUE, "queue.waiting", "", Level, 1.0, "ray_vllm:num_requests_waiting", &[]),
            (QUEUE, "gen_ai.kv_cache.usage", "", Largest, 1.0, "ray_vllm:gpu_cache_usage_perc", &[]),
            (SERVICE, "gen_ai.tokens.input", "", Total, 1.0, "ray_vllm:prompt_tokens_total", &[]),
            (SERVICE, "gen_ai.tokens.output", "", Total, 1.0, "ray_vllm:generation_tokens_total", &[]),
            (
                SERVICE,
                "gen_ai.server.time_per_output_token",
                "",
                Buckets,
                1.0,
                "ray_vllm:time_per_output_token_seconds",
                &[],
            ),
        ],
    },
];

/// The lines of the page whose name is `series` and that hold all of `holding` (each one of `a|b`): what identifies the
/// series, and its value. A series that stands twice counts once, by its last line.
fn lines<'p>(text: &'p str, series: &str, holding: &[&str]) -> BTreeMap<&'p str, f64> {
    let named = |line: &str| match line.strip_prefix("{\"") {
        Some(quoted) => quoted.split('"').next() == Some(series),
        None => line.split(['{', ' ']).next() == Some(series),
    };
    let holds = |line: &str| holding.iter().all(|words| words.split('|').any(|word| line.contains(word)));
    text.lines()
        .filter(|line| named(line) && holds(line))
        .filter_map(|line| {
            // An exemplar stands after the value, a time too.
            let line = line.split(" # ").next()?;
            let (labels, rest) = line.rsplit_once('}').unwrap_or_else(|| line.split_at(series.len()));
            Some((labels, rest.split_whitespace().next()?.parse().ok()?))
        })
        .collect()
}

fn sum(text: &str, series: &str, holding: &[&str]) -> f64 {
    series.split('+').flat_map(|series| lines(text, series, holding).into_values()).fold(0.0, |a, b| a + b)
}

/// The upper bounds of the finite buckets, without repetition.
fn bounds(text: &str, series: &str, holding: &[&str]) -> usize {
    let buckets = lines(text, &format!("{series}_bucket"), holding);
    let mut bounds: Vec<f64> = buckets
        .into_keys()
        .filter_map(|labels| labels.split("le=\"").nth(1)?.split('"').next()?.parse().ok())
        .filter(|bound: &f64| bound.is_finite())
        .collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds.len()
}

/// What is wrong with one number, if anything.
fn wrong(text: &str, samples: &[Sample], row: &Row) -> Option<String> {
    let (subject, metric, part, how, unit, series, holding) = *row;
    let is_it = |sample: &&Sample| {
        (sample.subject.as_str(), sample.metric.as_str()) == (subject, metric)
            && sample.part.as_ref().map_or("", |part| part.as_str()) == part
    };
    let Some(sample) = samples.iter().find(is_it) else {
        return Some(format!("no {subject} {metric}[{part}]"));
    };
    let halves = || series.split_once('/').expect("two series");
    let of = |series: &str| sum(text, series, holding);
    let largest = |series: &str| lines(text, series, holding).into_values().fold(f64::NEG_INFINITY, f64::max);
    let level = |value: f64| ("level", vec![value * unit]);
    let expected = match how {
        Level => level(of(series)),
        Largest => level(largest(series)),
        Share => level(of(halves().0) / of(halves().1)),
        Means(value) => {
            assert_eq!(lines(text, series, holding).len(), 1, "{series} has the line that has this meaning");
            ("level", vec![value])
        }
        Total => ("total", vec![of(series) * unit]),
        Buckets => {
            let (count, sum) = (of(&format!("{series}_count")), of(&format!("{series}_sum")) * unit);
            ("times", vec![count, sum, bounds(text, series, holding) as f64])
        }
        Mean => ("times", vec![of(halves().1), of(halves().0) * unit, 0.0]),
    };
    let seen = match &sample.value {
        Value::Gauge(value) => ("level", vec![*value]),
        Value::Counter(value) => ("total", vec![*value]),
        Value::Histogram(h) => ("times", vec![h.count, h.sum.unwrap_or(f64::NAN), h.bounds.len() as f64]),
    };
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= b.abs() * 1e-9;
    let is_right = seen.0 == expected.0
        && seen.1.len() == expected.1.len()
        && seen.1.iter().zip(&expected.1).all(is_near);
    (!is_right).then(|| format!("{subject} {metric}[{part}] is {seen:?} and not {expected:?}"))
}

#[test]
fn real_pages_say_what_their_lines_say() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    let mut breaches = vec![];
    for page in PAGES {
        let Some(mapping) = real(page.file) else { return };
        let text = std::fs::read_to_string(folder.join(page.file)).unwrap();
        let found = page.rows.iter().filter_map(|row| wrong(&text, &mapping.samples, row));
        breaches.extend(found.map(|words| format!("{}: {words}", page.file)));
        if spoken(&mapping) != page.dialects {
            breaches.push(format!("{} speaks {:?}", page.file, spoken(&mapping)));
        }
        let all = known(&mapping);
        if page.rows.len() < all.len().min(3) {
            breaches.push(format!(
                "{}: {} of its numbers are looked at, of {all:#?}",
                page.file,
                page.rows.len()
            ));
        }
        // An exporter's page never makes a service of the exporter.
        let serves =
            all.iter().any(|line| line.starts_with("service/") && line.contains(" service.requests["));
        if serves && page.rows.iter().all(|(subject, ..)| *subject != SERVICE) {
            breaches.push(format!("{} serves requests", page.file));
        }
    }
    let missing = std::fs::read_dir(&folder).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        (name.ends_with(".prom") && !PAGES.iter().any(|page| page.file == name)).then_some(name)
    });
    breaches.extend(missing.map(|name| format!("{name} is not looked at")));
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn lines_are_found_by_name_and_labels_and_counted_once() {
    let text =
        "a{x=\"1\"} 2 # {t=\"}\"} 9\na{x=\"1\"} 3\na{x=\"2\"} 4 1700\nab 8\n{\"c.d\",x=\"1\"} 5\nb 7\n";
    assert_eq!((sum(text, "a", &[]), sum(text, "a", &["x=\"2\"|x=\"3\""])), (7.0, 4.0));
    assert_eq!((sum(text, "c.d", &[]), sum(text, "a+b", &[]), sum(text, "e", &[])), (5.0, 14.0, 0.0));
    assert_eq!(lines(text, "a", &[]).len(), 2);
}
