//! The command `geosmooth`: everything is in the library, so that this parses, runs and exits.

#[cfg(feature = "jemalloc")]
mod allocator;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    geosmooth::cli::main()
}
