"""The sums on arrays: what everything else is written on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geosmooth import _core
from geosmooth._functions import Engine, Length


class KernelSums(NamedTuple):
    """Kernel sums at each target."""

    mass: NDArray[np.float64]
    """D = Σ K."""
    values: NDArray[np.float64]
    """N = Σ K v: a column for each column of values."""
    error: NDArray[np.float64]
    """E: a bound on the mass of the kernel's error. |N / D − exact| ≤ R · E / D, R being the range of the values."""


def kernel_sums(
    targets: ArrayLike,
    sources: ArrayLike,
    values: ArrayLike,
    *,
    sigma: Length,
    engine: Engine = "auto",
    tolerance: float = 1e-6,
    cutoff: float | None = None,
    threads: int | None = None,
) -> KernelSums:
    """The sums that everything else is written on: Σ K and Σ K v at each target, K = exp(−distance² / 2σ²).

    Parameters
    ----------
    targets, sources
        Places, a row each. With a σ in metres or degrees the columns are latitude and longitude; with a plain number
        they are one to three axes. Arrays of any layout and any real type are taken; whole numbers become floats, and those
        beyond 2⁵³ are an error: subtract one number from targets and sources first.
    values
        A value for each source, or several columns of them. NaN and infinities are errors.
    sigma, engine, tolerance, cutoff, threads
        As for `smooth`.

    Examples
    --------
    >>> import geosmooth
    >>> sums = geosmooth.kernel_sums([[0.0]], [[0.0], [1.0]], [3.0, 5.0], sigma=1)
    >>> float(sums.mass[0].round(6)), float(sums.values[0, 0].round(6))
    (1.606531, 6.032653)
    """
    values = numbers("values", values)
    mass, columns, error = _core.kernel_sums(
        places("targets", targets),
        places("sources", sources),
        values.reshape(len(values), -1) if values.ndim == 1 else numbers("values", values, 2),
        settings(sigma, engine, tolerance, cutoff, threads),
    )
    return KernelSums(mass, np.column_stack(columns) if columns else np.empty((len(mass), 0)), error)


def settings(
    sigma: Length, engine: str, tolerance: float, cutoff: float | None, threads: int | None
) -> _core.Settings:
    """What the core wants to know about sums."""
    return {
        "sigma": str(sigma),
        "engine": engine,
        "tolerance": float(tolerance),
        "cutoff": None if cutoff is None else float(cutoff),
        "threads": threads,
    }


def places(what: str, given: ArrayLike) -> NDArray[np.float64]:
    """Coordinates as floats of 64 bits. Whole numbers that floats do not count are refused: places that differ would fall together."""
    refuse_beyond_floats(what, given)
    return numbers(what, given, 2)


def refuse_beyond_floats(what: str, given: Any) -> None:
    """Raises if there are whole numbers beyond 2⁵³."""
    array = np.asarray(given)
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > 2**53:
        raise ValueError(f"{what} hold whole numbers beyond 2^53, which floats of 64 bits do not tell apart\nhint: subtract one number from all places first")


def numbers(what: str, given: ArrayLike, dimensions: int | None = None) -> NDArray[np.float64]:
    """An array of real numbers as floats of 64 bits; copied only if it is not that already."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} are {array.dtype}, not real numbers")
    if dimensions is not None and array.ndim != dimensions:
        raise ValueError(f"{what} have {array.ndim} dimensions, expected {dimensions}")
    return np.asarray(array, dtype=np.float64)
