"""Plots by matplotlib, where it is installed. Nothing here computes more than colours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from geosmooth._results import Rows

TITLES = {"r2": "R²", "rmse": "RMSE", "mae": "MAE", "mape": "MAPE", "median_error": "median absolute error"}
LARGEST_IS_BEST = {"r2"}
SHARE = 2, 98
"""Values beyond these percentiles share the colour at the end of a scale."""


def pyplot() -> Any:
    """matplotlib, or a word on where to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need matplotlib\nhint: pip install 'geosmooth[plot]'") from missing
    return plt


def unit(sigma: str) -> tuple[float, str]:
    """A σ as a number, and what its axis is called. The core writes metres, degrees or nothing; people may write more."""
    matched = re.fullmatch(r"\s*([-+.eE0-9]+)\s*(m|km|mi|deg|°)?\s*", sigma)
    number, name = (matched[1], matched[2]) if matched else ("nan", None)
    metres = {"m": 1.0, "km": 1000.0, "mi": 1609.344}
    if name in metres:
        return float(number) * metres[name], "σ in metres"
    return float(number), "σ in degrees" if name else "σ"


def score_curve(grid: Sequence[Mapping[str, Any]], best: Mapping[str, Any], metric: str) -> Axes:
    _, axes = pyplot().subplots(layout="constrained")
    names = sorted({(point["prediction"], "correct" in point) for point in grid})
    for name, corrected in names:
        points = [p for p in grid if p["prediction"] == name and ("correct" in p) == corrected and p["score"] is not None]
        scores: dict[float, float] = {}
        better = max if metric in LARGEST_IS_BEST else min
        for point in points:
            sigma = unit(point["sigma"])[0]
            scores[sigma] = better(scores.get(sigma, point["score"]), point["score"])
        sigmas = sorted(scores)
        label = f"{name}, corrected first" if corrected else name
        axes.plot(sigmas, [scores[sigma] for sigma in sigmas], marker=".", label=label)
    at, label = unit(best["sigma"])
    axes.plot(at, best["score"], "o", markersize=10, fillstyle="none", color="black", label=f"σ = {at:.4g}")
    axes.set(xscale="log", xlabel=label, ylabel=TITLES[metric], title="Score against σ")
    axes.legend()
    return axes  # type: ignore[no-any-return]


def heat_map(
    surface: tuple[list[float], list[float], list[list[float]]], best: Mapping[str, Any], metric: str
) -> Axes:
    sigmas, cs, scores = surface
    figure, axes = pyplot().subplots(layout="constrained")
    colours = "viridis" if metric in LARGEST_IS_BEST else "viridis_r"
    mesh = axes.pcolormesh(cs, sigmas, np.array(scores, dtype=float), cmap=colours, shading="nearest")
    figure.colorbar(mesh, ax=axes, label=TITLES[metric])
    at, label = unit(best["sigma"])
    axes.plot(best["c"], at, "o", markersize=10, fillstyle="none", color="red")
    axes.set(yscale="log", xlabel="c", ylabel=label, title="Score over σ and c")
    return axes  # type: ignore[no-any-return]


def maps(rows: Rows, errors: bool | None) -> Figure:
    """Two maps on one scale; along the index where there is only one."""
    if errors is None:
        errors = rows.truth is not None
    panels = {"before": rows.before, "after": rows.after}
    if errors:
        if rows.truth is None:
            raise ValueError("errors need the truth, which these rows do not have\nhint: use errors=False")
        panels = {"before": rows.before - rows.truth, "after": rows.after - rows.truth}
    figure, axes = pyplot().subplots(1, 2, figsize=(11, 5), sharex=True, sharey=True, layout="compressed")
    what = f"{rows.prediction} minus {rows.label}" if errors else rows.prediction
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        ax.set_title(name)
        if len(rows.axes) == 1:
            ax.plot(rows.axes[0], values, ".", markersize=3)
            ax.set(xlabel="index", ylabel=what)
        else:
            points = scatter(ax, rows, values, scale(panels["before"], errors))
    if len(rows.axes) > 1:
        figure.colorbar(points, ax=axes, label=what)
    return figure  # type: ignore[no-any-return]


def scatter(ax: Axes, rows: Rows, values: NDArray[np.float64], scale: Mapping[str, Any]) -> Any:
    # Maps want x before y: longitude, which comes second, but easting, which comes first.
    x, y = (rows.axes[1], rows.axes[0]) if rows.geographic else (rows.axes[0], rows.axes[1])
    size = float(np.clip(40_000 / max(len(values), 1), 0.5, 30))
    points = ax.scatter(x, y, c=values, s=size, linewidths=0, **scale)
    if rows.geographic:
        ax.set(xlabel="longitude", ylabel="latitude", aspect=1 / np.cos(np.radians(np.mean(y))) if len(y) else 1)
    else:
        ax.set(aspect="equal")
    return points


def scale(before: NDArray[np.float64], errors: bool) -> dict[str, Any]:
    known = before[np.isfinite(before)]
    if len(known) == 0:
        return {}
    if errors:
        limit = np.percentile(np.abs(known), SHARE[1])
        return {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    low, high = np.percentile(known, SHARE)
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def error_histogram(errors: Mapping[str, NDArray[np.float64]]) -> Axes:
    _, axes = pyplot().subplots(layout="constrained")
    for engine, values in errors.items():
        present = values[values > 0]
        if len(present):
            axes.hist(np.log10(present), bins=60, histtype="step", label=engine)
    axes.set(xlabel="log₁₀ of the error relative to the range", ylabel="rows", title="Errors against all pairs")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    return axes  # type: ignore[no-any-return]


def bars(methods: Sequence[Mapping[str, Any]], metric: str) -> Axes:
    _, axes = pyplot().subplots(layout="constrained")
    scored = [line for line in methods if line["score"] is not None]
    drawn = axes.barh([line["method"] for line in scored], [line["score"] for line in scored])
    axes.bar_label(drawn, fmt="%.4f", padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(xlabel=TITLES[metric], title="Methods on the test rows")
    return axes  # type: ignore[no-any-return]


def variogram(lags: Sequence[Mapping[str, float]]) -> Axes:
    _, axes = pyplot().subplots(layout="constrained")
    distances = [lag["distance"] for lag in lags]
    for name in ("before", "after"):
        axes.plot(distances, [lag[name] for lag in lags], marker=".", label=name)
    axes.set(xlabel="distance", ylabel="semivariance of the errors", title="Errors by distance", ylim=(0, None))
    axes.legend()
    return axes  # type: ignore[no-any-return]
