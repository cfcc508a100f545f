//! The page of the simulated GPUs: the families of NVIDIA's dcgm-exporter, and beside them what a tracer of the CUDA
//! runtime tells: how long launches take, and how many allocations fail.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;

use super::{Device, HOST, MEMORY, MIB, Present};
use crate::lab::LabError;
use crate::lab::exposition::Page;
use crate::lab::serving::serve;

/// A family with one series a device: its name, its type, its help and its value.
type Row = (&'static str, &'static str, &'static str, fn(&Present) -> f64);

const ROWS: &[Row] = &[
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", |_| 1_410.0),
    ("DCGM_FI_DEV_MAX_SM_CLOCK", "gauge", "Maximum supported SM clock (in MHz).", |_| 1_410.0),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", |_| 1_215.0),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", |now| {
        (38.0 + 30.0 * now.utilization).round()
    }),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", |now| 60.0 + 190.0 * now.utilization),
    ("DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", "Current power limit (in W).", |_| 300.0),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gauge", "Clock throttle reasons (bitmask).", |now| {
        // The lowest bit says that it idles.
        f64::from(u8::from(now.utilization == 0.0))
    }),
    (
        "DCGM_FI_DEV_POWER_VIOLATION",
        "counter",
        "Throttling duration due to power constraints (in ns).",
        |_| 0.0,
    ),
    (
        "DCGM_FI_DEV_THERMAL_VIOLATION",
        "counter",
        "Throttling duration due to thermal constraints (in ns).",
        |_| 0.0,
    ),
    ("DCGM_FI_DEV_PCIE_LINK_GEN", "gauge", "PCIe current link generation.", |_| 4.0),
    ("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "gauge", "PCIe maximum link generation.", |_| 4.0),
    ("DCGM_FI_DEV_PCIE_LINK_WIDTH", "gauge", "PCIe current link width.", |_| 16.0),
    ("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "gauge", "PCIe maximum link width.", |_| 16.0),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.", |_| 0.0),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", |now| (100.0 * now.utilization).round()),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", |now| {
        (45.0 * now.utilization).round()
    }),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", |_| 0.0),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", |now| mib(MEMORY - now.used)),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", |now| mib(now.used)),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Single-bit volatile ECC errors.", |_| 0.0),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit volatile ECC errors.", |_| 0.0),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed.", |_| 0.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.", |now| {
        now.utilization
    }),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active.", |now| {
        0.45 * now.utilization
    }),
    (
        "gpu_kernel_launch_latency_seconds",
        "gauge",
        "Mean time from asking for a kernel to its start.",
        |now| now.launch,
    ),
    ("gpu_allocation_failures_total", "counter", "Allocations of device memory that failed.", |now| {
        now.failures as f64
    }),
];

/// Serves the page of these devices on a free loopback port until told to stop.
pub(in crate::lab) async fn serve_page(
    devices: Vec<Arc<Device>>,
    stop: CancellationToken,
) -> Result<SocketAddr, LabError> {
    let router = Router::new().route("/metrics", get(metrics)).with_state(Arc::new(devices));
    serve(router, stop).await.map_err(|error| LabError::part("the GPU exporter", error))
}

async fn metrics(State(devices): State<Arc<Vec<Arc<Device>>>>) -> Response {
    let present: Vec<Present> = devices.iter().map(|device| device.present()).collect();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page(&present)).into_response()
}

fn page(devices: &[Present]) -> String {
    let mut page = Page::default();
    page.comment("No GPU is behind these numbers: they are simulated from the batches of the lab's service.");
    for (name, kind, help, value) in ROWS {
        page.family(name, kind, help);
        for (index, present) in devices.iter().enumerate() {
            page.sample(name, &labels(index), value(present));
        }
    }
    page.into_text()
}

/// The labels of one device.
fn labels(index: usize) -> String {
    format!(
        "gpu=\"{index}\",UUID=\"GPU-5150a7ed-0000-0000-0000-{index:012}\",device=\"nvidia{index}\",\
         modelName=\"Simulated GPU 16 GB\",Hostname=\"{HOST}\""
    )
}

/// Whole MiB, as the exporter tells them.
fn mib(bytes: u64) -> f64 {
    (bytes / MIB) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::gpu::KEPT_BACK;

    #[test]
    fn a_full_device_has_two_mib_left() {
        let full = Present { utilization: 0.181, used: MEMORY - KEPT_BACK, launch: 47.6e-6, failures: 3 };
        let page = page(&[full]);
        let value = |family: &str| {
            let line = page.lines().find(|line| line.starts_with(&format!("{family}{{"))).expect("a series");
            line.rsplit_once(' ').expect("a value").1.parse::<f64>().expect("a number")
        };
        assert_eq!((value("DCGM_FI_DEV_FB_USED"), value("DCGM_FI_DEV_FB_FREE")), (16_278.0, 2.0));
        assert_eq!(value("DCGM_FI_DEV_GPU_UTIL"), 18.0);
        assert_eq!(value("gpu_allocation_failures_total"), 3.0);
        assert_eq!(value("gpu_kernel_launch_latency_seconds"), 47.6e-6);
        assert!(
            page.contains("Hostname=\"simulated\"") && page.contains("modelName=\"Simulated GPU 16 GB\"")
        );
    }
}
