//! The `headwater` command.

/// The engine frees tens of thousands of small things a second when it watches a thousand nodes; the allocator of the C
/// library sorts them when somebody else asks for memory, and that is then the screen.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    headwater::cli::main()
}
