//! The calls that the wrapper has no method for, and the library's loading and unloading.

use std::ffi::OsStr;
use std::os::raw::{c_uint, c_ulonglong};

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{NvmlLib, nvmlMemory_t};

/// Bad rows of memory that were replaced.
pub(super) struct RemappedRows {
    /// For errors that could be corrected.
    pub(super) corrected: u32,
    /// For errors that could not.
    pub(super) uncorrected: u32,
    /// Whether one could not be replaced.
    pub(super) has_failed: bool,
}

/// Whether the library can be loaded here. Nothing is asked of it.
#[expect(unsafe_code, reason = "loading a library runs its initialisers")]
pub(super) fn can_be_loaded(library: &OsStr) -> bool {
    // SAFETY: the library is the one that the user's system or the user named; its initialisers may be run, and nothing
    // that it gave is kept.
    unsafe { NvmlLib::new(library) }.is_ok()
}

/// Ends the library's session. One that cannot be ended is left as it is: the wrapper would panic.
pub(super) fn close(nvml: Nvml) {
    if nvml.lib().nvmlShutdown.is_ok() { drop(nvml) } else { std::mem::forget(nvml) }
}

/// Used and all memory, as the first version of the call tells them.
#[expect(unsafe_code, reason = "the wrapper asks by the second version alone")]
pub(super) fn memory_v1(device: &Device<'_>) -> Result<(u64, u64), NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: the handle belongs to this library, which is open as long as the device is borrowed from it, and the
    // struct is the one that this version of the call fills.
    nvml_try(unsafe { call(device.handle(), &mut memory) })?;
    Ok((memory.used, memory.total))
}

/// Bad rows of memory that were replaced.
#[expect(unsafe_code, reason = "the wrapper does not wrap this call")]
pub(super) fn remapped_rows(device: &Device<'_>) -> Result<RemappedRows, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetRemappedRows.as_ref())?;
    let (mut corrected, mut uncorrected, mut pending, mut failed): (c_uint, c_uint, c_uint, c_uint) =
        (0, 0, 0, 0);
    // SAFETY: the handle belongs to this library, which is open as long as the device is borrowed from it, and each
    // pointer is to a number of the size that the call writes.
    nvml_try(unsafe { call(device.handle(), &mut corrected, &mut uncorrected, &mut pending, &mut failed) })?;
    Ok(RemappedRows { corrected, uncorrected, has_failed: failed != 0 })
}

/// Why the clocks are below their highest at present, as bits. By the name that the call has had since CUDA 12.4, else by
/// its earlier one.
#[expect(unsafe_code, reason = "the wrapper asks by the earlier name alone, which newer libraries may drop")]
pub(super) fn clocks_event_reasons(device: &Device<'_>) -> Result<u64, NvmlError> {
    let library = device.nvml().lib();
    let earlier = || nvml_sym(library.nvmlDeviceGetCurrentClocksThrottleReasons.as_ref());
    let call = nvml_sym(library.nvmlDeviceGetCurrentClocksEventReasons.as_ref()).or_else(|_| earlier())?;
    let mut reasons: c_ulonglong = 0;
    // SAFETY: the handle belongs to this library, which is open as long as the device is borrowed from it, and the
    // pointer is to a number of the size that the call writes under either name.
    nvml_try(unsafe { call(device.handle(), &mut reasons) })?;
    Ok(reasons)
}

/// The number of the GPU instance that a slice (MIG) belongs to.
#[expect(unsafe_code, reason = "the wrapper does not wrap this call")]
pub(super) fn gpu_instance(slice: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(slice.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut id: c_uint = 0;
    // SAFETY: the handle belongs to this library, which is open as long as the device is borrowed from it, and the
    // pointer is to a number of the size that the call writes.
    nvml_try(unsafe { call(slice.handle(), &mut id) })?;
    Ok(id)
}
