//! The panel of GPUs in a real terminal of 80 columns, while drivers and the benchmark's process break: it says which and why,
//! in whole words, everything else goes on, and the terminal is as before. The drivers are stubs, which prove what is made of
//! their answers and nothing about a GPU.

mod terminal_gpu {
    pub(crate) mod desk;
}

use headwater_test_support::processes::{children, is_gone};
use headwater_test_support::{NvmlRelease, StubCuda, wait_until};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use terminal_gpu::desk::{Desk, Seat, TWO_GPUS};

/// A canary that has its turn at the start, and no other while a test lasts.
const CANARY: &str = "[canary]\nevery = \"1h\"\nbackend = \"cuda\"\nkernels = [\"launch\", \"triad\"]\n";

/// What the panel says of a machine that is as it should be.
const WELL: &str = "host-a:1 91 %";

/// The screen with this machine says all of this, also after a look elsewhere, and is left.
fn says(desk: &Desk, more: &str, words: &[&str]) {
    let mut seat = desk.sit(more);
    words.iter().for_each(|words| seat.until_told(words));
    words.iter().for_each(|words| seat.look_away(words));
    seat.leave();
}

#[test]
fn no_library_at_all() {
    says(
        &Desk::without_drivers(),
        CANARY,
        &[
            "! discovery/nvml: NVIDIA's management library cannot be loaded",
            "install the driver, or name the library in HEADWATER_NVML",
            "! probe/canary: no CUDA driver: libcuda.so.1 cannot be loaded",
        ],
    );
}

#[test]
fn a_library_of_something_else() {
    let words = "! discovery/nvml: the library has no 'nvmlInit_v2': it is another library, or far too old";
    says(&Desk::new(NvmlRelease::Another, 0), "", &[words]);
}

#[test]
fn a_library_without_a_device() {
    let desk = Desk::new(NvmlRelease::Present, 0).and_cuda(StubCuda::new(), "devices 0\n");
    says(
        &desk,
        CANARY,
        &[
            "! discovery/nvml: the NVIDIA driver knows no GPU on this machine (NVML 12.570.86.15,",
            "! probe/canary: the CUDA driver knows no GPU",
        ],
    );
}

#[test]
fn an_old_driver_that_lacks_calls() {
    let desk = Desk::new(NvmlRelease::Old, TWO_GPUS);
    let words =
        "not told: XID events, processes, replaced memory rows (the library of this driver has no such call)";
    let mut seat = desk.sit("");
    seat.until_told(words);
    // On the page of the GPU each with the name of its call.
    seat.terminal.press("\r");
    for (what, call) in [
        ("XID events", "nvmlEventSetWait_v2"),
        ("processes", "nvmlDeviceGetComputeRunningProcesses_v3"),
        ("replaced memory rows", "nvmlDeviceGetRemappedRows"),
    ] {
        seat.until_told(&format!("{what}: the library of this driver has no such call ({call})"));
    }
    seat.terminal.press("\x1b");
    seat.until_told(words);
    seat.look_away(words);
    seat.leave();
}

#[test]
fn an_old_cuda_driver_that_lacks_a_call() {
    let desk = Desk::new(NvmlRelease::Present, TWO_GPUS).and_cuda(StubCuda::without_memory_info(), "");
    let words = "! probe/canary: the benchmark failed: the CUDA driver lacks 'cuMemGetInfo_v2', which is in every release from \
                 12.0 on: update the driver";
    says(&desk, CANARY, &[words]);
}

/// Takes as long as a driver has to answer: ten seconds.
#[test]
fn a_call_that_hangs() {
    let mut desk = Desk::new(NvmlRelease::Present, TWO_GPUS);
    let mut seat = desk.sit("");
    seat.until_told(WELL);
    desk.nvml().set(&[("1.hang", "nvmlDeviceGetPowerUsage")]);
    // The list of GPUs may be late as well by then.
    seat.until_told("? gpu/host-a:0 and ");
    seat.until_told(" more: asked at ");
    seat.until_told("and not answered yet");
    seat.until_told("! gpu/host-a:1 and ");
    seat.until_told(
        " more: the NVIDIA driver hangs: 'nvmlDeviceGetPowerUsage' of GPU 1 has not answered for",
    );
    seat.look_away("see 'dmesg' for what it says of it");
    desk.nvml().unset(&["1.hang"]);
    // What it was accused of meanwhile may stand there for longer, with its end.
    let is_in_trouble = |screen: &str| screen.lines().any(|line| line.starts_with("! gpu/"));
    seat.terminal.until("it answers again", |screen| !is_in_trouble(screen));
    seat.until_told(WELL);
    // And a driver that hangs holds nobody up who leaves.
    desk.nvml().set(&[("hang", "nvmlDeviceGetUtilizationRates")]);
    seat.until_told("and not answered yet");
    seat.leave();
}

#[test]
fn a_gpu_that_is_lost() {
    let mut desk = Desk::new(NvmlRelease::Present, TWO_GPUS);
    let mut seat = desk.sit("");
    seat.until_told(WELL);
    desk.nvml().set(&[("0.xids", "79"), ("0.lost", "1")]);
    let words = "! gpu/host-a:0: this GPU is lost: it has fallen off the bus, or cannot be reached any more; 'dmesg | grep -i \
                 xid' says more, and only a reset of it or a reboot brings it back";
    seat.until_told(words);
    seat.until_told("host-a:0 lost");
    seat.until_told(WELL);
    seat.look_away(words);
    // All that are on a board that fails are told once.
    desk.nvml().set(&[("1.lost", "1")]);
    seat.until_told("! gpu/host-a:0 and 1 more: this GPU is lost: it has fallen off the bus");
    seat.leave();
}

#[test]
fn a_benchmark_that_crashes() {
    let desk = Desk::with_cuda("crash cuModuleLoadData\n");
    says(&desk, CANARY, &["! probe/canary: the benchmark's process crashed (signal 6)"]);
}

#[test]
fn a_device_that_computes_wrongly() {
    let desk = Desk::with_cuda("wrong headwater_triad\n");
    says(
        &desk,
        CANARY,
        &[
            "suspect gpu/host-a:0: it computes wrongly: our own kernel triad gave a wrong result (1 of 1 lately,",
            "! probe/canary: gpu/host-a:0 computes wrongly: triad: value 0 is 1003 instead of 3",
            "kernels: 1 with a wrong result; triad gave a wrong result",
        ],
    );
}

#[test]
fn a_gpu_without_memory_for_a_context() {
    let desk = Desk::with_cuda("fail cuDevicePrimaryCtxRetain 2\n");
    says(&desk, CANARY, &["! probe/canary: no context can be made on the GPU: CUDA_ERROR_OUT_OF_MEMORY"]);
}

#[test]
fn a_gpu_without_memory_for_some_kernels() {
    let desk = Desk::with_cuda("most 100000\n");
    says(&desk, CANARY, &["? some kernels: triad of gpu/host-a:0: the device has no memory left for it"]);
}

#[test]
fn a_gpu_whose_memory_is_left_to_those_who_serve() {
    let desk = Desk::with_cuda("free 500000000\n");
    let words = "? kernel timings: only 500 MB of memory are free, and what serves requests may need them";
    says(&desk, CANARY, &[words]);
}

/// Asks for kernels to be timed, by a driver that hangs; the process that measures.
fn timed_by_hand(desk: &Desk, seat: &mut Seat) -> Pid {
    seat.until_told(WELL);
    seat.terminal.press("t");
    seat.until_told("Time our own kernels once on gpu/host-a:0?");
    seat.terminal.press("\r");
    wait_until("the driver is asked", || desk.cuda().calls().iter().any(|call| call == "cuInit"));
    let mut child = None;
    wait_until("there is a process that measures", || {
        child = children(seat.terminal.process()).first().copied();
        child.is_some()
    });
    child.expect("it was just found")
}

/// A driver that hangs at its first call, which is noted.
fn hanging() -> Desk {
    let desk = Desk::with_cuda("");
    desk.cuda().set(&format!("hang cuInit\nlog {}\n", desk.cuda().log_file().display()));
    desk
}

#[test]
fn a_benchmark_that_is_killed_from_outside() {
    let desk = hanging();
    let mut seat = desk.sit("");
    let child = timed_by_hand(&desk, &mut seat);
    kill_process(child, Signal::KILL).expect("it can be killed");
    let words =
        "GPU 0: the benchmark's process was killed (signal 9), perhaps because the host has no memory left";
    seat.until_told(words);
    // It stays in sight when the line below is gone, until somebody asks again.
    seat.look_away(&format!("? kernel timings: {words} (tried at "));
    seat.terminal.press("\r");
    seat.until_told(&format!("kernels ? kernel timings: {words}"));
    seat.terminal.press("\x1b");
    desk.cuda().set("");
    seat.terminal.press("t");
    seat.until_told("Time our own kernels once on gpu/host-a:0?");
    seat.terminal.press("\r");
    seat.until_told("gpu/host-a:0: launch ");
    seat.terminal.until("it is over", |screen| !screen.contains("was killed"));
    seat.leave();
}

#[test]
fn a_benchmark_that_gets_no_memory_of_the_host() {
    let desk = hanging();
    let mut seat = desk.sit("");
    let child = timed_by_hand(&desk, &mut seat);
    // As 'ulimit -v' does, for it alone: what it has it keeps, and more it gets none.
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(child), Resource::As, none).expect("limits of one's own processes can be lowered");
    desk.cuda().set("");
    seat.look_away(
        "d2h_pinned, h2d_pageable, d2h_pageable of gpu/host-a:0: the device has no memory left for it",
    );
    seat.leave();
}

/// Takes as long as a benchmark has in all: fifteen seconds to start, and its budget thrice.
#[test]
fn a_benchmark_that_hangs_until_its_deadline() {
    let desk = hanging();
    let mut seat = desk.sit(&format!("{CANARY}budget = \"20ms\"\n"));
    let words = "! probe/canary: the driver did not answer within 15.1 s: the benchmark's process was killed";
    seat.until_told(words);
    assert!(children(seat.terminal.process()).into_iter().all(is_gone));
    seat.look_away(words);
    seat.leave();
}

#[test]
fn a_wall_says_it_too() {
    let mut desk = Desk::with_cuda("crash cuModuleLoadData\n");
    let seat = desk.hang_up(CANARY);
    seat.until_told("! probe/canary: the benchmark's process crashed (signal 6)");
    desk.nvml().set(&[("1.lost", "1")]);
    seat.until_told(
        "! gpu/host-a:1: this GPU is lost: it has fallen off the bus, or cannot be reached any more",
    );
    seat.leave();
}

#[test]
fn the_doctor_says_the_same() {
    let two = |release| Desk::new(release, TWO_GPUS);
    let lost = {
        let mut desk = two(NvmlRelease::Present);
        desk.nvml().set(&[("1.lost", "1")]);
        desk
    };
    let failed = Some(1);
    for (desk, more, code, words) in [
        (
            Desk::without_drivers(),
            CANARY,
            failed,
            &[
                "FAILED discovery/nvml: gpus: NVIDIA's management library cannot be loaded",
                "FAILED probe/canary: kernels: no CUDA driver: libcuda.so.1 cannot be loaded",
                "0 of 2 checks passed",
            ][..],
        ),
        (
            Desk::new(NvmlRelease::Present, 0),
            "",
            failed,
            &["FAILED discovery/nvml: gpus: the NVIDIA driver knows no GPU on this machine"],
        ),
        (
            two(NvmlRelease::Old),
            "",
            Some(0),
            &[
                "ok gpu/host-a:0: gpu: ",
                "without XID events: the library of this driver has no such call (nvmlEventSetWait_v2); processes: ",
            ],
        ),
        (lost, "", failed, &["ok gpu/host-a:0: gpu: ", "FAILED gpu/host-a:1: gpu: this GPU is lost"]),
        (
            Desk::with_cuda("crash cuModuleLoadData\n"),
            CANARY,
            failed,
            &[
                "FAILED probe/canary: kernels: the benchmark's process crashed (signal 6)",
                "fix headwater bench --backend auto",
            ],
        ),
        (
            Desk::with_cuda("fail cuDevicePrimaryCtxRetain 2\n"),
            CANARY,
            failed,
            &["FAILED probe/canary: kernels: no context can be made on the GPU: CUDA_ERROR_OUT_OF_MEMORY"],
        ),
        (
            Desk::with_cuda("most 100000\n"),
            CANARY,
            Some(0),
            &["ok probe/canary: kernels: ", "triad not timed (the device has no memory left for it)"],
        ),
    ] {
        let (ended, said) = desk.doctor(more);
        words.iter().for_each(|words| assert!(said.contains(words), "no '{words}' in {said}"));
        assert_eq!(ended, code, "{said}");
    }
}
