//! `scripts/gpu-check`: the check of a machine with a GPU, against stubs of its driver.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_test_support::{NvmlRelease, Ran, StubNvml};

use super::home::Home;

/// Runs `scripts/gpu-check` with this binary, with these programs first in PATH, and with this library to ask about GPUs.
fn gpu_check(home: &Home, programs: &str, nvml: Option<PathBuf>) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu-check");
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = home.command(&[]);
    let environment: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    command = Command::new(script);
    command.arg(env!("CARGO_BIN_EXE_headwater")).envs(environment).env("PATH", path);
    // This binary is not the one that is shipped, and checks its results far more slowly.
    command.env("GPU_CHECK_BUDGET", "12").envs(nvml.map(|library| ("HEADWATER_NVML", library)));
    Ran::of(command.output().expect("the script runs"))
}

/// A program of this name that does what this script says.
fn program(home: &Home, name: &str, script: &str) -> String {
    let folder = home.folder.path().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o700)).expect("it can be made to run");
    folder.display().to_string()
}

/// The state of a check, with what was told.
fn state<'a>(ran: &'a Ran, check: &str) -> &'a str {
    let is_it = |line: &&str| line.strip_prefix(check).is_some_and(|rest| rest.starts_with("  "));
    ran.out.lines().find(is_it).map_or("", |line| line[check.len()..].trim())
}

const SMI: &str =
    "case \"$*\" in -L) echo 'GPU 0: Stub GPU 0 (UUID: GPU-07)' ;; *) echo 'Stub GPU 0' ;; esac";

#[test]
fn the_check_of_a_machine_with_a_gpu_says_where_there_is_none() {
    let home = Home::new(None);
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", "exit 9"), None);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    let rows: Vec<&str> = ran.out.lines().filter(|line| line.contains("unavailable")).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.contains("no CUDA driver")), "{ran:?}");
    assert_eq!(rows.len() + 2, ran.out.lines().count(), "nothing was tried: {ran:?}");
    // What another tool sees is there.
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", SMI), None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(state(&ran, "a GPU is seen").contains("and nvidia-smi lists GPU 0: Stub GPU 0"), "{ran:?}");
}

#[test]
fn the_check_of_a_machine_with_a_gpu_tries_everything_and_says_what_does_not_hold() {
    let home = Home::with_stub("wrong headwater_gemm");
    let mut nvml = StubNvml::new(NvmlRelease::Present);
    nvml.set(&[
        ("count", "1"),
        ("0.uuid", "GPU-07070707-0707-0707-0707-070707070707"),
        ("0.name", "Stub GPU 0"),
        ("0.temperature.0", "41"),
        ("0.clock.1", "1410"),
        ("0.utilization", "40"),
        ("0.utilization.memory", "10"),
        ("0.memory.total", "85899345920"),
        ("0.memory.used", "10000000000"),
    ]);
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", SMI), Some(nvml.library()));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(state(&ran, "GPU 0: gemm").starts_with("WRONG"), "{ran:?}");
    assert!(
        state(&ran, "GPU 0: bench, saved").starts_with("EXIT 74"),
        "a wrong result is no baseline: {ran:?}"
    );
    assert!(state(&ran, "GPU 0: bench, compared").starts_with("EXIT 69"), "{ran:?}");
    assert!(state(&ran, "GPU 0: triad against the memory's peak").contains("no peak is known"), "{ran:?}");
    let kernels = ran.out.lines().filter(|line| line.contains(" us")).count();
    assert_eq!(kernels, 12, "{ran:?}");
    assert!(state(&ran, "GPU 0: clocks while it works").starts_with("ok"), "{ran:?}");
    let told = ran.out.lines().filter(|line| line.contains(": gpu  ")).count();
    assert_eq!(told, 1, "what NVML tells of a GPU has a row: {ran:?}");
    for check in [
        "a GPU is seen",
        "discovery/nvml: gpus",
        "nothing is left when the parent is killed",
        "a measuring process that is killed is told",
        "triage tells of GPUs",
        "the panel of GPUs",
    ] {
        assert!(state(&ran, check).starts_with("ok"), "{check}: {ran:?}");
    }
    assert!(state(&ran, "probe/canary: kernels").starts_with("FAILED"), "it computes wrongly: {ran:?}");
}
