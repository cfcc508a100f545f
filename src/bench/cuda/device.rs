//! Opening a GPU: each step that can fail with the reason, the cheap and harmless ones first.

use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result, sys};

use super::choice::{self, Shown, bus_text, uuid_text};
use super::kernels::Functions;
use super::watch::Watch;
use super::words;
use crate::bench::backend::{Opened, set_bytes};
use crate::bench::child::refusal;
use crate::bench::lock::{self, Taken};
use crate::bench::plan::Plan;
use crate::bench::report::{Conditions, DeviceState};

/// The largest set that is worked on: four times the largest cache of today, within the memory that must be free.
const LARGEST_SET: u64 = 512 * 1024 * 1024;

/// An open GPU.
#[derive(Debug)]
pub(in crate::bench) struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) functions: Functions,
    pub(super) watch: Watch,
    /// Floats that bandwidth is measured over.
    pub(super) floats: usize,
    pub(super) multiprocessors: u32,
    /// Whether the next kernels that are asked for are looked at while they work.
    is_watched: Cell<bool>,
    at_work: RefCell<DeviceState>,
    begun: CudaEvent,
    ended: CudaEvent,
}

/// Why a GPU was not opened.
#[derive(Debug)]
pub(in crate::bench) enum NotOpen {
    /// There is none.
    Absent(String),
    /// It is there, or asked for by its number, and cannot be used.
    Unusable(String),
    /// It is better left alone.
    Refused(String),
    /// Another process measures it, or starts the driver.
    Taken(Taken),
}

fn unusable(what: &str) -> impl Fn(DriverError) -> NotOpen {
    move |error| NotOpen::Unusable(format!("{what}: {}", words(error)))
}

/// What it means that CUDA knows no GPU: that there is none, unless NVML lists one that nobody hides. That one is there and
/// fails, as one does that has fallen off the bus or of which a container was given one library and not the other.
fn without(why: &str, watch: &Watch) -> NotOpen {
    let listed = watch.listed().len();
    if listed == 0 || is_all_hidden() {
        return NotOpen::Absent(why.to_owned());
    }
    let plural = if listed == 1 { "" } else { "s" };
    NotOpen::Unusable(format!(
        "{why}; yet NVML lists {listed} GPU{plural}, which CUDA cannot use: see 'dmesg' for XIDs, and whether the container \
         was given the driver's libraries for computing; '--backend cpu' measures the processors"
    ))
}

/// Whether somebody said that CUDA should show no GPU to this process.
fn is_all_hidden() -> bool {
    let hides = |list: &str| matches!(list.trim(), "" | "-1" | "NoDevFiles" | "none" | "void");
    std::env::var("CUDA_VISIBLE_DEVICES").is_ok_and(|list| hides(&list))
}

/// A GPU, or a slice of one, by its place among those that CUDA shows.
fn shown(ordinal: i32) -> Result<Shown, DriverError> {
    let device = result::device::get(ordinal)?;
    let attribute = |which| {
        #[expect(unsafe_code, reason = "there is no safe wrapper of this call without a context")]
        // SAFETY: the device is one that the driver has just given.
        let asked = unsafe { result::device::get_attribute(device, which) };
        asked.ok()
    };
    let place = [
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    ];
    let bus = match place.map(attribute) {
        [Some(domain), Some(bus), Some(device)] => Some(bus_text(domain, bus, device)),
        _ => None,
    };
    // The first version of the call tells of the GPU also where this is a slice of it, the second one of the slice.
    let of_gpu = result::device::get_uuid(device).ok().map(|uuid| uuid.bytes);
    let mut own = sys::CUuuid { bytes: [0; 16] };
    #[expect(unsafe_code, reason = "the wrapper has the first version alone")]
    // SAFETY: the driver writes sixteen bytes, and the pointer leads to as many.
    let asked = unsafe { sys::cuDeviceGetUuid_v2(&raw mut own, device) };
    let own = asked.result().ok().map(|()| own.bytes);
    let text = |of, bytes: [c_char; 16]| uuid_text(of, bytes.map(|byte| byte as u8));
    Ok(Shown {
        uuid: of_gpu.map(|bytes| text("GPU", bytes)),
        bus,
        slice: own.filter(|own| of_gpu.is_some_and(|gpu| gpu != *own)).map(|bytes| text("MIG", bytes)),
    })
}

/// Opens the GPU of a plan. Memory and use are looked at before a context is made, because that alone takes hundreds of
/// megabytes.
pub(in crate::bench) fn open(plan: &Plan) -> Result<(Gpu, Opened), NotOpen> {
    // Before it is known which GPU is meant, a driver that hangs must not be asked by one process after the other.
    let starting = lock::wait("start", plan.deadline).map_err(NotOpen::Taken)?;
    #[expect(unsafe_code, reason = "loading a library runs its code, and there is no other way to a driver")]
    // SAFETY: it only tries to load libcuda, whose initialisers are made to be run by any program.
    let is_there = unsafe { sys::is_culib_present() };
    let mut watch = Watch::open();
    if !is_there {
        return Err(without(
            "no CUDA driver: libcuda.so.1 cannot be loaded; install the driver, or see that it is in LD_LIBRARY_PATH",
            &watch,
        ));
    }
    match result::init() {
        // A library of the toolkit stands in for the driver.
        Err(
            error @ DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE | sys::CUresult::CUDA_ERROR_STUB_LIBRARY),
        ) => {
            return Err(without(&format!("the CUDA driver does not start: {}", words(error)), &watch));
        }
        started => started.map_err(unusable("the CUDA driver does not start"))?,
    }
    let count = result::device::get_count().map_err(unusable("the GPUs cannot be counted"))?;
    if count < 1 {
        return Err(without("the CUDA driver knows no GPU", &watch));
    }
    // One that cannot be opened keeps nobody from the others.
    let opened: Vec<Result<Shown, DriverError>> = (0..count).map(shown).collect();
    let every: Vec<Shown> = opened.iter().map(|shown| shown.clone().unwrap_or_default()).collect();
    let settings = choice::settings(|name| std::env::var(name).ok());
    let choice =
        choice::choose(plan.device, &every, &watch.listed(), &settings).map_err(NotOpen::Unusable)?;
    let chosen = opened[choice.ordinal].as_ref();
    let slice = chosen.map_err(|error| unusable("the GPU cannot be opened")(*error))?.slice.as_deref();
    watch.turn_to(choice.index, slice);
    let index = choice.index.unwrap_or(choice.ordinal as u32);
    // Whichever way led to the GPU, and whichever slice of it is meant.
    drop(starting);
    let turn = lock::wait(&every[choice.ordinal].lock_name(index), plan.deadline).map_err(NotOpen::Taken)?;
    let mut notes: Vec<String> = turn.unseen.clone().into_iter().collect();
    turn.keep();
    if !settings.is_empty() {
        let how = if choice.index.is_some() { "as nvidia-smi counts" } else { "as CUDA counts" };
        notes.push(format!("measured is GPU {index} {how}{settings}"));
    }
    if slice.is_some() {
        notes.push(
            "measured is a slice (MIG): clocks, temperature and throttling are those of the whole GPU, which others share"
                .to_owned(),
        );
    }
    let mut conditions = Conditions { before: watch.state(), ..Conditions::default() };
    if let Some((free, all)) = watch.memory() {
        (conditions.memory_free_bytes, conditions.memory_bytes) = (Some(free), Some(all));
    }
    conditions.missing.extend(watch.missing());
    if let Some(why) = refusal(&conditions, plan, &format!("GPU {index}")) {
        return Err(NotOpen::Refused(why));
    }

    let context = CudaContext::new(choice.ordinal).map_err(unusable("no context can be made on the GPU"))?;
    let (free, all) = context.mem_get_info().map_err(unusable("the GPU's memory cannot be read"))?;
    (conditions.memory_free_bytes, conditions.memory_bytes) = (Some(free as u64), Some(all as u64));
    if let Some(why) = refusal(&conditions, plan, &format!("GPU {index}")) {
        return Err(NotOpen::Refused(why));
    }
    let attribute = |which| {
        context.attribute(which).ok().and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0)
    };
    let cache = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map(u64::from);
    conditions.cache_bytes = cache;
    // A quarter of what is free stays far from taking what others need.
    let largest = LARGEST_SET.min(free as u64 / 4);
    conditions.working_set_bytes = plan.set_bytes.unwrap_or_else(|| set_bytes(cache, largest));
    conditions.compute_capability =
        context.compute_capability().ok().map(|(major, minor)| format!("{major}.{minor}"));
    let functions = Functions::load(&context).map_err(unusable("the kernels cannot be loaded"))?;
    let event = || context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
    let gpu = Gpu {
        stream: context.default_stream(),
        functions,
        floats: (conditions.working_set_bytes / 4) as usize,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap_or(1),
        begun: event().map_err(unusable("no event can be made"))?,
        ended: event().map_err(unusable("no event can be made"))?,
        is_watched: Cell::new(false),
        at_work: RefCell::default(),
        watch,
        context,
    };
    let opened = Opened {
        device: gpu.context.name().unwrap_or_else(|_| "a GPU without a name".to_owned()),
        index,
        slice: gpu.watch.instance(),
        driver: gpu.watch.driver().or_else(cuda_version),
        conditions,
        notes,
    };
    Ok((gpu, opened))
}

impl Gpu {
    /// Has the kernels that are asked for next looked at while they work.
    pub(super) fn watch_next(&self) {
        self.is_watched.set(true);
    }

    /// What was seen of the GPU while kernels worked.
    pub(super) fn at_work(&self) -> DeviceState {
        self.at_work.borrow().clone()
    }

    /// How long what `ask` puts into the stream takes, by the device's clock.
    pub(super) fn timed(
        &self,
        ask: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<Duration, DriverError> {
        self.begun.record(&self.stream)?;
        ask()?;
        self.ended.record(&self.stream)?;
        if self.is_watched.take() {
            self.at_work.borrow_mut().worsen(self.watch.state());
        }
        self.ended.synchronize()?;
        let milliseconds = self.begun.elapsed_ms(&self.ended)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1_000.0))
    }
}

/// The release of CUDA that the driver can do.
fn cuda_version() -> Option<String> {
    let mut version = 0;
    #[expect(unsafe_code, reason = "there is no safe wrapper of this call")]
    // SAFETY: the driver writes one int, and the pointer leads to one.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    // 12080 is CUDA 12.8.
    asked.result().ok().map(|()| format!("CUDA {}.{}", version / 1_000, version % 1_000 / 10))
}
