//! The embedded kernels.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

use crate::bench::backend::{GoOn, Trouble};

/// Compiled from `assets/kernels/kernels.cu` by `scripts/kernels`.
const PTX: &str = include_str!("../../../assets/kernels/kernels.ptx");

/// Threads in a block of every kernel but the empty one.
pub(super) const BLOCK: u32 = 256;

/// Blocks that fill arrays and add them up; the sum of one block then stays exact in single precision.
pub(super) const BLOCKS: u32 = 4_096;

/// The kernels by name.
#[derive(Debug)]
pub(super) struct Functions {
    pub(super) empty: CudaFunction,
    pub(super) fill: CudaFunction,
    pub(super) copy: CudaFunction,
    pub(super) triad: CudaFunction,
    pub(super) reduce: CudaFunction,
    pub(super) gather: CudaFunction,
    pub(super) gemm: CudaFunction,
}

impl Functions {
    /// Has the driver compile the kernels for this GPU.
    pub(super) fn load(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        let module = context.load_module(Ptx::from_src(PTX))?;
        Ok(Self {
            empty: module.load_function("headwater_empty")?,
            fill: module.load_function("headwater_fill")?,
            copy: module.load_function("headwater_copy")?,
            triad: module.load_function("headwater_triad")?,
            reduce: module.load_function("headwater_reduce")?,
            gather: module.load_function("headwater_gather")?,
            gemm: module.load_function("headwater_gemm")?,
        })
    }

    /// An array on the device whose values are those of [`crate::bench::inputs`], shifted by so many places; none
    /// where there is no time for it.
    pub(super) fn filled(
        &self,
        stream: &Arc<CudaStream>,
        length: usize,
        shift: u32,
        period: usize,
        go_on: GoOn<'_>,
    ) -> Result<CudaSlice<f32>, Trouble> {
        go_on()?;
        let array = stream.alloc_zeros::<f32>(length)?;
        let (count, period) = (length as u64, period as u32);
        let mut launch = stream.launch_builder(&self.fill);
        launch.arg(&array).arg(&count).arg(&shift).arg(&period);
        #[expect(unsafe_code, reason = "the types of a kernel's arguments cannot be checked by the compiler")]
        // SAFETY: headwater_fill takes a pointer, an unsigned long long and two unsigned, and writes `count` floats at most.
        unsafe {
            launch.launch(grid(BLOCKS))?;
        }
        Ok(array)
    }
}

/// So many blocks of [`BLOCK`] threads.
pub(super) fn grid(blocks: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 }
}
