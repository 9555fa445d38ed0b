//! The private module `geosmooth._core`: Python's words for what the crate `geosmooth` does. It translates arguments, tables,
//! arrays and errors, keeps Python responsive while Rust works, and has no logic of its own.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]
#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "methods of a type with a lifetime are not general enough"
)]

mod allocator;
mod arrays;
mod attend;
mod calls;
mod columns;
mod errors;
mod objects;
mod options;
mod partition;
mod pickle;
mod rows;
mod tile_group;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::arrays::{kernel_average, kernel_sums};
    #[cfg(feature = "baselines")]
    #[pymodule_export]
    use super::calls::methods;
    #[pymodule_export]
    use super::calls::{compare, diagnose, parameters_text, smooth, tune, weights};
    #[pymodule_export]
    use super::columns::{axis, group_keys};
    #[pymodule_export]
    use super::partition::{Census, Partition, bytes_of, check_kinds, lat_lon_names};
    #[pymodule_export]
    use super::rows::Checksums;
    #[pymodule_export]
    use super::tile_group::{GroupField, GroupMoments, TileGroup};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A damaged file may make the Parquet reader panic, which is caught and raised as an error, unless RUST_BACKTRACE asks for more.
        if std::env::var_os("RUST_BACKTRACE").is_none_or(|wanted| wanted == "0") {
            std::panic::set_hook(Box::new(|_| {}));
        }
        module.add("THE_SAME_EACH_TIME", super::rows::THE_SAME_EACH_TIME)?;
        module.add("NOTHING_HELPS", geosmooth::tune::Warning::NothingHelps.to_string())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
