//! The command `geosmooth`: everything is in the library, so that this parses, runs and exits.

fn main() -> std::process::ExitCode {
    geosmooth::cli::main()
}
