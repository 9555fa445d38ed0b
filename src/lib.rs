//! geosmooth
#![allow(missing_docs)]
pub mod engine;
mod error;
pub mod io;
mod kernel;
mod points;
pub mod scene;
mod smoother;
mod space;
pub use error::{Error, bytes};
pub use points::Places;
pub use smoother::{Smoothed, Smoother, SmoothingPlan, smooth};
pub use space::{Degrees, EARTH_RADIUS, Metres, Metric, Sigma, great_circle};
