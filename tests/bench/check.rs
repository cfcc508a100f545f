//! `scripts/gpu-check`: the check of a machine with a GPU, against a stub of its driver.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use headwater_test_support::Ran;

use super::home::Home;

/// Runs `scripts/gpu-check` with this binary, and with these programs first in PATH.
fn gpu_check(home: &Home, programs: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu-check");
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = home.command(&[]);
    let environment: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    command = Command::new(script);
    command.arg(env!("CARGO_BIN_EXE_headwater")).envs(environment).env("PATH", path);
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

#[test]
fn the_check_of_a_machine_with_a_gpu_says_where_there_is_none_and_what_does_not_hold() {
    let home = Home::new(None);
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", "exit 9"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(69), ""), "{ran:?}");
    assert!(ran.err.contains("no GPU here"), "{ran:?}");

    let home = Home::with_stub("wrong headwater_gemm");
    let names = "case \"$*\" in -L) echo 'GPU 0: Stub GPU 0 (UUID: GPU-07)' ;; *) echo 'Stub GPU 0' ;; esac";
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", names));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let state = |check: &str| {
        let row = ran.out.lines().find(|line| line.starts_with(check)).unwrap_or_default();
        row[check.len().min(row.len())..].trim().to_owned()
    };
    assert!(state("GPU 0: gemm").starts_with("WRONG"), "{ran:?}");
    assert!(state("GPU 0: bench, saved").starts_with("EXIT 74"), "a wrong result is no baseline: {ran:?}");
    assert!(state("GPU 0: triad against the memory's peak").contains("no peak is known"), "{ran:?}");
    let kernels = ran.out.lines().filter(|line| line.contains(" us")).count();
    assert_eq!(kernels, 12, "{ran:?}");
    assert_eq!(state("nothing is left behind"), "ok", "{ran:?}");
}
