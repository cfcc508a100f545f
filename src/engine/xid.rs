//! What the numbered errors of NVIDIA's driver (XID) mean: whose doing each is, whom it hits, and what to do.
//!
//! After NVIDIA's Xid catalogue for Ampere and later, and its list for older chips for what newer ones do not use. The
//! number alone says little: 31 is nearly always a bug of a process, 79 is a GPU that is gone, 94 hits one process and
//! waits for a quiet hour.

/// Whose doing an error is, as far as its number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The process that used the GPU.
    Application,
    /// The driver or the firmware on the GPU.
    Driver,
    /// The GPU or what it is plugged into.
    Hardware,
    /// The machine around it: its bus, its power, whoever ended a process.
    Host,
}

impl Blame {
    /// The word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Driver => "driver",
            Self::Hardware => "hardware",
            Self::Host => "host",
        }
    }
}

/// Whom an error hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hits {
    /// Nobody now: it is a notice, or follows another error.
    Nobody,
    /// The process that met it; others on the GPU go on.
    Process,
    /// Everything on the GPU.
    Gpu,
}

/// One row of [`XIDS`].
#[derive(Debug)]
pub struct Xid {
    /// The number that the driver logs.
    pub code: u32,
    /// What it is called, in a few words.
    pub name: &'static str,
    /// What happened.
    pub meaning: &'static str,
    /// Whose doing it is most likely.
    pub blame: Blame,
    /// Whom it hits.
    pub hits: Hits,
    /// What to do first.
    pub action: &'static str,
}

/// The row of a code; `None` for one that is not in the catalogue.
pub fn by_code(code: u32) -> Option<&'static Xid> {
    XIDS.binary_search_by_key(&code, |row| row.code).ok().map(|place| &XIDS[place])
}

impl Xid {
    /// `XID 79, fallen off the bus`.
    pub fn words(&self) -> String {
        format!("XID {}, {}", self.code, self.name)
    }
}

/// What to do about any error of a link between GPUs of the fifth generation.
const NVLINK5: &str = "see which link and which end by 'nvidia-smi nvlink -e'; where the driver logs XID 154 beside it, do \
                       what that says; drain and reset the GPU if it comes again";

macro_rules! xids {
    ($($code:literal $blame:ident $hits:ident $name:literal $meaning:literal $action:expr;)*) => {
        /// Every code that is known, in order.
        pub static XIDS: &[Xid] = &[$(Xid {
            code: $code, name: $name, meaning: $meaning, blame: Blame::$blame, hits: Hits::$hits, action: $action,
        }),*];
    };
}

xids! {
    8 Driver Process "stopped processing" "a channel of the GPU made no progress for too long and was ended"
        "restart the process; if it comes again, update the driver";
    13 Application Process "exception of the compute engine"
        "a kernel did what it may not: an address out of bounds, an illegal instruction"
        "restart the process and run it under compute-sanitizer; only if unrelated processes meet it on the same GPU, \
         test the GPU";
    25 Application Process "illegal push buffer" "the stream of commands of a process was not valid"
        "restart the process; check that its CUDA version fits the driver";
    31 Application Process "page fault in GPU memory" "a kernel touched an address that is not mapped"
        "restart the process and look for its bug with compute-sanitizer or cuda-gdb; leave the GPU in service";
    32 Host Process "corrupted push buffer"
        "commands arrived damaged over PCIe: seldom the doing of a process"
        "restart the process; if it comes again, look at PCIe replays, the slot and the riser";
    37 Driver Nobody "firmware of the driver met an unknown method" "the driver's firmware was asked what it does not know"
        "check that driver and CUDA fit each other";
    38 Driver Nobody "watchdog of the driver's firmware" "the firmware did not answer the driver in time"
        "if it comes again, update the driver and ask its vendor";
    39 Driver Process "exception of a copy engine" "a transfer between memories failed"
        "restart the process; if it comes again, ask the vendor";
    43 Application Process "process ended after a fault of its own"
        "a process met a fault that its own software made and was ended; the GPU is healthy"
        "look at the log of the process; leave the GPU in service";
    44 Driver Process "fault while switching contexts" "the GPU met a fault while it changed from one process to another"
        "restart the process; if it comes again, reset the GPU and update the driver";
    45 Host Nobody "cleaned up after a process"
        "a process ended, was killed, or fell to another error, and what it left on the GPU was removed"
        "look for the error that was logged just before; alone it needs nothing";
    46 Driver Gpu "GPU stopped processing" "the GPU did not answer its driver in time"
        "drain and reset the GPU; if it comes again, ask the vendor";
    48 Hardware Gpu "double-bit memory error" "memory gave back data that could not be corrected"
        "drain the GPU and reset it; count them: above the vendor's threshold replace it";
    54 Host Gpu "auxiliary power missing" "the power cable of the board is not connected"
        "take the machine out of service and check the power cables";
    61 Driver Gpu "breakpoint of the internal controller" "the small processor that runs the GPU stopped for a check"
        "drain and reset the GPU; if it comes again, update the driver";
    62 Driver Gpu "internal controller halted" "the small processor that runs the GPU stopped"
        "drain and reset the GPU; if it comes again, ask the vendor";
    63 Hardware Nobody "memory row set aside"
        "a bad row or page of memory was noted and will be replaced by a spare one"
        "nothing now; reset the GPU at a quiet hour, so that the spare row is used";
    64 Hardware Gpu "memory row could not be set aside"
        "a bad row or page of memory was found, and noting or replacing it failed"
        "drain and reset the GPU; if it comes again, replace it";
    68 Application Process "exception of the video decoder" "a decoding of video failed: often its input, seldom the chip"
        "restart the process; keep the input that did it";
    69 Application Process "class error of the compute engine" "a process sent the engine a value that it may not have"
        "restart the process; check that its CUDA version fits the driver";
    74 Hardware Gpu "NVLink error" "a link to another GPU or a switch failed, or the other end did"
        "see which link by 'nvidia-smi nvlink -e' and look at both ends; drain, reset the GPU, reseat it if it comes again";
    79 Hardware Gpu "fallen off the bus"
        "the driver cannot reach the GPU over PCIe any more: whatever ran there is gone"
        "take the machine out of service now and restart it, cold if need be; look at power, heat, the slot and the kernel's \
         PCI log; replace the GPU if it comes again";
    92 Hardware Nobody "many single-bit memory errors" "memory corrects itself often: nothing is wrong with results yet"
        "plan its replacement; nothing is lost now";
    94 Hardware Process "contained memory error"
        "memory gave back bad data to one process, which was ended before others could see any of it"
        "restart that process; others go on; reset the GPU at a quiet hour";
    95 Hardware Gpu "uncontained memory error" "memory gave back bad data, and nobody knows which processes saw it"
        "stop everything on the GPU, throw its last results away, reset it before anything starts again";
    109 Driver Gpu "timeout while switching contexts" "the GPU did not leave one process for another in time"
        "drain and reset the GPU; see whether one kernel runs very long; if it comes again, ask the vendor";
    110 Hardware Gpu "security fault" "the GPU saw an access that its protection forbids: rare unless hardware fails"
        "undo recent changes of hardware and restart the machine cold; ask the vendor if it comes again";
    119 Driver Gpu "GPU firmware did not answer"
        "the system processor of the GPU (GSP) did not answer the driver in time, so calls to the driver hang"
        "drain and reset the GPU, or restart the machine; update driver and firmware if it comes again";
    120 Driver Gpu "error in the GPU firmware" "code on the system processor of the GPU (GSP) failed"
        "drain and reset the GPU, or restart the machine; update driver and firmware if it comes again";
    121 Hardware Nobody "corrected error on the link to the CPU" "the chip-to-chip link corrected what it received"
        "nothing now; reset the GPU at a quiet hour, so that the link is trained anew";
    136 Hardware Gpu "link training failed" "an NVLink did not come up" "drain and reset the GPU; check the link's signal";
    137 Application Process "remote page fault over NVLink" "a process touched memory of another GPU that is not mapped"
        "restart the process and look for its bug as after XID 31; see what the other GPU logged";
    140 Hardware Gpu "memory error that could not be recovered" "bad data in memory hindered the driver in setting rows aside"
        "drain and reset the GPU; if it comes again, replace it";
    143 Hardware Gpu "GPU could not be started" "the GPU failed while the driver set it up"
        "reset the GPU or restart the machine; if it comes again, replace it";
    144 Hardware Gpu "NVLink error (SAW)" "the part of the GPU that feeds its links failed" NVLINK5;
    145 Hardware Gpu "NVLink error (RLW)" "the receiving side of a link failed, or the process at its other end" NVLINK5;
    146 Hardware Gpu "NVLink error (TLW)" "the transmitting side of a link failed" NVLINK5;
    147 Hardware Gpu "NVLink error (TREX)" "the switching of links within the GPU failed" NVLINK5;
    148 Hardware Gpu "NVLink error (NVLPW)" "the control of the links failed" NVLINK5;
    149 Hardware Gpu "NVLink error (NETIR)" "a link went down or carried damaged data" NVLINK5;
    150 Hardware Gpu "NVLink error (MSE)" "the processor that manages the links failed" NVLINK5;
    154 Driver Nobody "what the GPU needs has changed"
        "the driver says what another error calls for: nothing, a drain, a reset of the GPU, a restart of the machine"
        "do what its text says ('nvidia-smi -q' shows it as GPU Recovery Action); look for the error logged just before";
    156 Hardware Gpu "part of the GPU set aside" "a failing part was noted and is left out after the next reset"
        "drain and reset the GPU";
    157 Hardware Nobody "part of the GPU could not be set aside" "a failing part was found and no spare is left"
        "it goes on, and may fail again: plan its replacement";
    158 Hardware Gpu "fatal timeout" "the GPU did not answer at all in time" "drain and reset the GPU; ask the vendor";
    167 Host Gpu "fatal timeout on PCIe" "a transfer over PCIe was never answered"
        "drain and restart the machine; look at the slot, the riser and the kernel's PCI log";
    171 Hardware Gpu "uncorrectable error in device memory" "which memory XID 48 speaks of: that on the board"
        "as for XID 48";
    172 Hardware Gpu "uncorrectable error in a cache" "which memory XID 48 speaks of: that inside the chip"
        "as for XID 48; caches have no spare rows, so replace the GPU sooner";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_in_order_and_has_what_fleets_meet() {
        assert!(XIDS.is_sorted_by(|one, other| one.code < other.code));
        let met = [
            13, 31, 32, 38, 43, 44, 45, 48, 61, 62, 63, 64, 68, 69, 74, 79, 92, 94, 95, 109, 119, 120, 121,
            140, 143, 144, 145, 146, 147, 148, 149, 150, 154,
        ];
        for code in met {
            assert_eq!(by_code(code).map(|row| row.code), Some(code));
        }
        assert!(by_code(0).is_none() && by_code(999).is_none());
    }

    #[test]
    fn what_a_process_did_leaves_the_gpu_in_service_and_a_lost_gpu_takes_the_machine_out() {
        let row = |code| by_code(code).unwrap();
        assert_eq!((row(31).blame, row(31).hits), (Blame::Application, Hits::Process));
        assert!(row(31).action.contains("leave the GPU in service"));
        assert_eq!((row(79).blame, row(79).hits), (Blame::Hardware, Hits::Gpu));
        assert!(row(79).action.contains("take the machine out of service now"));
        assert_eq!((row(94).blame, row(94).hits), (Blame::Hardware, Hits::Process));
        assert!(row(94).action.contains("reset the GPU at a quiet hour"));
        assert_eq!(row(45).hits, Hits::Nobody);
        assert_eq!(row(79).words(), "XID 79, fallen off the bus");
    }
}
