//! Which of several GPUs is measured, and that the clocks beside its times are its own.

use headwater_test_support::{NvmlRelease, Ran, StubNvml};
use serde_json::{Value, json};

use super::home::{Home, SMALL};

/// A host with three GPUs, of which each has a clock and a memory of its own.
fn host() -> StubNvml {
    let mut nvml = StubNvml::new(NvmlRelease::Present);
    nvml.set(&[("count", "3")]);
    for gpu in 0..3_u32 {
        let id = format!("{:02x}", 7 + gpu);
        let uuid = format!("GPU-{0}{0}{0}{0}-{0}{0}-{0}{0}-{0}{0}-{0}{0}{0}{0}{0}{0}", id);
        let (bus, clock) = (format!("00000000:{:02X}:00.0", 0x1b + gpu), format!("{}", 1_000 + 100 * gpu));
        for (key, value) in [
            ("uuid", uuid.as_str()),
            ("bus", &bus),
            ("clock.1", &clock),
            ("memory.total", "85899345920"),
            ("memory.used", "10000000000"),
        ] {
            nvml.set(&[(&format!("{gpu}.{key}"), value)]);
        }
    }
    nvml
}

/// Measures with this environment; what was measured, or the exit code and what was said.
fn measured(
    home: &Home,
    nvml: &StubNvml,
    environment: &[(&str, &str)],
    device: Option<&str>,
) -> Result<Value, Ran> {
    let arguments = ["--backend", "cuda", "--kernels", "launch", "--format", "json"];
    let mut command = home.command(&[&SMALL, &arguments[..]].concat());
    command.args(device.into_iter().flat_map(|device| ["--device", device]));
    command.env("HEADWATER_NVML", nvml.library()).envs(environment.iter().copied());
    let ran = Ran::of(command.output().expect("headwater runs"));
    if ran.code == Some(0) { Ok(ran.json()) } else { Err(ran) }
}

/// The model, the number on the host, and the clock.
fn told(report: &Value) -> Value {
    json!([report["device"], report["index"], report["conditions"]["before"]["sm_clock_hz"]])
}

#[test]
fn the_clocks_are_those_of_the_gpu_that_is_measured_however_cuda_counts() {
    let nvml = host();
    // As the driver shows them for CUDA_VISIBLE_DEVICES=2,1, and for an order of its own.
    let home = Home::with_stub("devices 2\nshows 2 1\n");
    let visible = [("CUDA_VISIBLE_DEVICES", "2,1")];
    for (device, expected) in [
        (None, json!(["Stub GPU 2", 2, 1.2e9])),
        (Some("2"), json!(["Stub GPU 2", 2, 1.2e9])),
        (Some("1"), json!(["Stub GPU 1", 1, 1.1e9])),
    ] {
        let report = measured(&home, &nvml, &visible, device).expect("it is shown");
        assert_eq!(told(&report), expected, "{device:?}: {report}");
        let note = report["notes"].to_string();
        assert!(note.contains("as nvidia-smi counts (CUDA_VISIBLE_DEVICES='2,1')"), "{note}");
    }
    let hidden = measured(&home, &nvml, &visible, Some("0")).expect_err("it is not shown");
    let said = "GPU 0 is there, and CUDA shows to this process GPU 2, 1 alone (CUDA_VISIBLE_DEVICES='2,1')";
    assert!(hidden.code == Some(69) && hidden.err.contains(said), "{hidden:?}");
    let none = measured(&home, &nvml, &[], Some("3")).expect_err("there is no such GPU");
    assert!(none.code == Some(69) && none.err.contains("there is no GPU 3: this host has 3"), "{none:?}");

    let fastest = Home::with_stub("devices 3\nshows 1 2 0\n");
    let order = [("CUDA_DEVICE_ORDER", "FASTEST_FIRST")];
    let report = measured(&fastest, &nvml, &order, Some("0")).expect("it is shown");
    assert_eq!(told(&report), json!(["Stub GPU 0", 0, 1e9]), "{report}");
}

#[test]
fn a_slice_is_told_as_one_with_its_own_memory_and_the_clocks_of_its_gpu() {
    let mut nvml = host();
    nvml.set(&[
        ("1.mig", "1"),
        ("1.slice.0", "7:9000000000:1000000000"),
        ("1.slice.0.uuid", "MIG-00000000-0000-0000-0000-000000000000"),
        ("1.slice.3", "9:10737418240:1000000000"),
        ("1.slice.3.uuid", "MIG-61616161-6161-6161-6161-616161616161"),
    ]);
    let home = Home::with_stub("shows 1\nmig 1\nfree 9000000000\n");
    let visible = [("CUDA_VISIBLE_DEVICES", "MIG-61616161-6161-6161-6161-616161616161")];
    let report = measured(&home, &nvml, &visible, None).expect("it is shown");
    assert_eq!(told(&report), json!(["Stub GPU 1 MIG 1g.10gb", 1, 1.1e9]), "{report}");
    assert_eq!(report["slice"], 9);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("measured is a slice (MIG)") && notes.contains("those of the whole GPU"),
        "{notes}"
    );
    // The GPU has much memory, and its slice too little.
    nvml.set(&[("1.slice.3", "9:10737418240:10700000000")]);
    let full = measured(&home, &nvml, &visible, None).expect_err("it is full");
    assert!(full.err.contains("refused: only 37.4 MB of memory are free"), "{full:?}");
}

#[test]
fn without_nvml_cuda_counts_and_wrong_names_are_refused() {
    let home = Home::with_stub("devices 2");
    let ran = home.small(&["--backend", "cuda", "--device", "1", "--kernels", "launch", "--format", "json"]);
    assert_eq!((ran.json()["device"].as_str(), ran.json()["index"].as_u64()), (Some("Stub GPU 1"), Some(1)));
    // One that is lost keeps nobody from the others, and is not replaced by one of them.
    let broken = Home::with_stub("devices 2\nlost 0\n");
    let ran =
        broken.small(&["--backend", "cuda", "--device", "1", "--kernels", "launch", "--format", "json"]);
    assert_eq!(ran.json()["device"].as_str(), Some("Stub GPU 1"), "{ran:?}");
    for device in [&["--device", "0"][..], &[]] {
        let ran = broken.small(&[&["--kernels", "launch"], device].concat());
        assert!(ran.code == Some(69) && ran.err.contains("the GPU cannot be opened"), "{ran:?}");
    }
    let ran = home.small(&["--backend", "cuda", "--device", "2"]);
    assert!(ran.code == Some(69) && ran.err.contains("there is no GPU 2: this host has 2"), "{ran:?}");
    let ran = home.small(&["--kernels", "lunch"]);
    assert!(ran.code == Some(64) && ran.err.contains("'lunch'") && ran.err.contains("'launch'"), "{ran:?}");
}
