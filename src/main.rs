//! The command `geosmooth`: everything is in the library, so that this parses, runs and exits.

#[cfg(not(target_env = "msvc"))]
mod allocator;

#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    geosmooth::cli::main()
}
