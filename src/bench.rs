//! The kernel benchmark: how long small, known pieces of work take on this device now, beside how long they took before.
//!
//! It runs in a child process of the same binary ([`child`]), because a CUDA context costs hundreds of megabytes, can hang
//! and can die: never in the process that draws the screen. The child measures and tells, line by line; [`run`](mod@run) starts
//! it, listens, and kills it at its deadline. A result is compared with the one that was [saved](baseline) on the same model
//! and driver.

mod backend;
pub mod baseline;
pub mod child;
pub mod cpu;
mod cuda;
pub mod failure;
mod inputs;
pub mod kernel;
mod line;
mod lock;
pub mod meter;
pub mod plan;
pub mod report;
mod rounds;
pub mod run;

pub use failure::BenchError;
pub use plan::{BackendChoice, Plan};
pub use report::BenchReport;
pub use run::run;
