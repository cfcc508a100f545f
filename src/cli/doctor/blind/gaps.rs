//! What may be missing, a row a gap.

use headwater_engine::Kind;
use headwater_engine::metric::{
    BATCH_MAX, BATCH_SIZE, CLIENT_ATTEMPTS, GPU_ECC, GPU_LAUNCH, GPU_MEMORY_MAX, GPU_THROTTLED,
    GPU_UTILIZATION, GPU_XID, GPU_XIDS, HOST_LOAD, HOST_RUNNABLE, HOST_THROTTLED, IN_FLIGHT, KV_USAGE,
    LOG_REPEATED, MODEL_DURATION, Metric, PREEMPTIONS, QUEUE_REJECTED, QUEUE_WAITING, READY,
    REQUEST_DURATION, REQUESTS, STAGE_DURATION, TTFT, UPSTREAM_EJECTED, UPSTREAM_HEALTHY, UPSTREAM_READY,
    UPSTREAM_REQUESTS, UPSTREAM_RETRIES, UPSTREAM_TIMEOUT,
};

/// Something that may be missing.
pub(super) struct Gap {
    /// Of what kind of component it is missed.
    pub(super) of: Kind,
    /// It is missed only where one of these is told.
    pub(super) beside: &'static [Metric],
    /// Any of these is enough.
    pub(super) any: &'static [Metric],
    /// Who must tell it.
    pub(super) by: By,
    /// The rules that stay blind, or are worth the middle at most.
    pub(super) rules: &'static [&'static str],
    /// What is missing.
    pub(super) lacks: &'static str,
    /// What to do about it.
    pub(super) add: &'static str,
}

/// Who must tell what may be missing.
pub(super) enum By {
    /// The component itself, and with buckets where they are times.
    Itself,
    /// The component of this kind with the same name.
    Its(Kind),
    /// Anybody at all.
    Anybody,
}

/// What says that a service answers requests.
const ANSWERS: &[Metric] = &[REQUESTS, IN_FLIGHT, REQUEST_DURATION, MODEL_DURATION, TTFT];

/// Every row.
pub(super) static GAPS: &[Gap] = &[
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[REQUEST_DURATION, MODEL_DURATION, TTFT],
        by: By::Itself,
        rules: &["latency-shift", "slow-instance"],
        lacks: "no buckets of the time that requests take, and a mean hides the slow ones",
        add: "switch histograms on (Spring: management.metrics.distribution.percentiles-histogram), or add a [[log]] \
              with times",
    },
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[CLIENT_ATTEMPTS, UPSTREAM_RETRIES, LOG_REPEATED],
        by: By::Anybody,
        rules: &["retry-storm", "surge"],
        lacks: "nothing counts what is asked again: a rise is 'surge or storm'",
        add: "add the page of the gateway or of the clients, or a [[log]] of requests with ids",
    },
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[QUEUE_WAITING],
        by: By::Its(Kind::Queue),
        rules: &["queue-not-compute", "batch-starved", "compute-bound", "no-backpressure"],
        lacks: "no depth of its queue",
        add: "expose how many requests wait, as 'inference_queue_depth' or as your server's own metric",
    },
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[READY, UPSTREAM_READY],
        by: By::Anybody,
        rules: &["fake-healthy"],
        lacks: "nobody tells of a readiness check",
        add: "add a [[probe]] of kind \"ready\" of the page that your orchestrator asks",
    },
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[STAGE_DURATION],
        by: By::Itself,
        rules: &["self-slow", "host-starved"],
        lacks: "no times of the stages of a request",
        add: "expose a histogram '..._stage_duration_seconds' with a label 'stage'",
    },
    Gap {
        of: Kind::Queue,
        beside: &[QUEUE_WAITING],
        any: &[BATCH_MAX],
        by: By::Itself,
        rules: &["batch-starved", "compute-bound"],
        lacks: "nobody says how many requests a batch may hold",
        add: "expose the limit of the batcher beside the sizes of its batches",
    },
    Gap {
        of: Kind::Queue,
        beside: &[QUEUE_WAITING],
        any: &[QUEUE_REJECTED],
        by: By::Itself,
        rules: &["no-backpressure"],
        lacks: "refused requests are not counted",
        add: "expose them, as 'inference_queue_rejected_total' or as your server's own metric",
    },
    Gap {
        of: Kind::Queue,
        beside: &[KV_USAGE],
        any: &[PREEMPTIONS],
        by: By::Itself,
        rules: &["kv-cache-pressure"],
        lacks: "requests that are pushed out of a batch are not counted",
        add: "see whether a newer version of the server counts preemptions",
    },
    Gap {
        of: Kind::Queue,
        beside: &[QUEUE_WAITING, BATCH_SIZE],
        any: &[GPU_UTILIZATION],
        by: By::Anybody,
        rules: &["queue-not-compute", "compute-bound", "batch-starved"],
        lacks: "no GPU is seen, so a full queue is 'the batcher or the GPU'",
        add: "add the page of dcgm-exporter or nvidia_gpu_exporter",
    },
    Gap {
        of: Kind::Gpu,
        beside: &[GPU_UTILIZATION],
        any: &[GPU_MEMORY_MAX],
        by: By::Itself,
        rules: &["gpu-memory-full", "gpu-memory-leak"],
        lacks: "how much of its memory is used and there is, is not told",
        add: "let dcgm-exporter tell DCGM_FI_DEV_FB_USED and FB_FREE",
    },
    Gap {
        of: Kind::Gpu,
        beside: &[GPU_UTILIZATION],
        any: &[GPU_XID, GPU_XIDS, GPU_ECC],
        by: By::Itself,
        rules: &["gpu-error"],
        lacks: "neither errors of the driver (XID) nor of memory are told",
        add: "let dcgm-exporter tell DCGM_FI_DEV_XID_ERRORS; nvidia_gpu_exporter has no XID",
    },
    Gap {
        of: Kind::Gpu,
        beside: &[GPU_UTILIZATION],
        any: &[GPU_THROTTLED],
        by: By::Itself,
        rules: &["gpu-throttled"],
        lacks: "nobody says what holds its clocks down",
        add: "let dcgm-exporter tell DCGM_FI_DEV_CLOCKS_EVENT_REASONS, which its usual list leaves out",
    },
    Gap {
        of: Kind::Gpu,
        beside: &[GPU_UTILIZATION],
        any: &[GPU_LAUNCH],
        by: By::Anybody,
        rules: &["launch-stall"],
        lacks: "nobody times how long a kernel waits for its start, so a GPU that waits is 'no work or a slow machine'",
        add: "run 'headwater bench' on its machine, or expose the time as 'cuda_kernel_launch_latency_seconds'",
    },
    Gap {
        of: Kind::Gateway,
        beside: &[UPSTREAM_REQUESTS, REQUESTS],
        any: &[UPSTREAM_TIMEOUT],
        by: By::Itself,
        rules: &["timeout-mismatch", "no-backpressure"],
        lacks: "nobody says how long it waits for an upstream",
        add: "write timeout = \"3s\", as it is configured, in its [[component]]: hardly any gateway tells",
    },
    Gap {
        of: Kind::Gateway,
        beside: &[UPSTREAM_REQUESTS, REQUESTS],
        any: &[UPSTREAM_EJECTED, UPSTREAM_HEALTHY, UPSTREAM_READY],
        by: By::Itself,
        rules: &["failover-storm"],
        lacks: "nobody says which upstreams get requests",
        add: "switch its outlier detection's or health checks' numbers on",
    },
    Gap {
        of: Kind::Service,
        beside: ANSWERS,
        any: &[HOST_RUNNABLE, HOST_LOAD, HOST_THROTTLED],
        by: By::Anybody,
        rules: &["host-starved"],
        lacks: "no machine is seen",
        add: "add the page of node_exporter or cAdvisor",
    },
];
