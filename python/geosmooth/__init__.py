"""Smooths predictions over space, with a proven bound on the numerical error of every row.

>>> import geosmooth
>>> tuned = geosmooth.tune(validation, train, label="price", prediction="model")  # doctest: +SKIP
>>> smoothed = geosmooth.smooth(test, train, params=tuned)                        # doctest: +SKIP

Tables are those of pandas, polars, pyarrow, GeoPandas or DuckDB, or Parquet files; the same kind comes back. Options have the
names, defaults and meanings of the command `geosmooth`. Errors say the same in both, with options spelled as keywords here.
"""

from typing import TYPE_CHECKING, Any

from geosmooth._core import __version__
from geosmooth._functions import compare, diagnose, methods, smooth, tune, weights
from geosmooth._request import GeosmoothWarning
from geosmooth._results import Comparison, Diagnosis, Result, Rows, Smoothing, Standings, Tuning
from geosmooth._sums import KernelSums, kernel_sums

if TYPE_CHECKING:
    from geosmooth._estimator import PostEstimationSmoother

__all__ = [
    "Comparison",
    "Diagnosis",
    "GeosmoothWarning",
    "KernelSums",
    "PostEstimationSmoother",
    "Result",
    "Rows",
    "Smoothing",
    "Standings",
    "Tuning",
    "__version__",
    "compare",
    "diagnose",
    "kernel_sums",
    "methods",
    "smooth",
    "tune",
    "weights",
]


def __getattr__(name: str) -> Any:
    """The estimator is loaded when it is asked for: it needs scikit-learn, the rest does not."""
    if name == "PostEstimationSmoother":
        from geosmooth._estimator import PostEstimationSmoother

        return PostEstimationSmoother
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
