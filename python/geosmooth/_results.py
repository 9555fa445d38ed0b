"""What the functions give back beside tables: figures by name, a text for people, and plots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geosmooth import _core, _plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


class Result:
    """What a function gives. `print(result)` shows what the command line would; `summary` is what `--json` gives."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.summary: dict[str, Any] = result["summary"]
        self.text: str = result["text"]
        self.warnings: list[str] = result["warnings"]

    def __str__(self) -> str:
        return self.text.rstrip()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>\n{self}"


class WithRows(Result):
    """A result about rows: `rows` holds those that took part, before and after; `None` where memory did not hold them all."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.rows = Rows(result["rows"]) if "rows" in result else None

    def plot_map(self, errors: bool | None = None) -> Figure:
        """Maps of the rows before and after: of the errors where the truth is known, of the values otherwise."""
        if self.rows is None:
            raise ValueError("memory did not hold all rows, and none are left to plot: raise memory_limit")
        return _plots.maps(self.rows, errors)


class Rows:
    """Rows that took part, in order: their places, the prediction before and after, and the truth where it is known."""

    def __init__(self, shown: dict[str, Any]) -> None:
        self.axes: list[Floats] = shown["axes"]
        self.geographic: bool = shown["geographic"]
        self.before: Floats = shown["before"]
        self.after: Floats = shown["after"]
        self.truth: Floats | None = shown["truth"]
        self.prediction: str = shown["prediction"]
        self.label: str = shown["label"]

    def __len__(self) -> int:
        return len(self.before)


class Smoothing(WithRows):
    """What `smooth` gives with `details=True`: the table and how it came about."""

    def __init__(self, result: dict[str, Any], table: Any) -> None:
        super().__init__(result)
        self.table = table
        self.engine: str = self.summary["engine"]
        self.scores: list[dict[str, Any]] = self.summary["scores"]
        self.error_bound: dict[str, float] = self.summary["error_bound"]
        self.seconds: dict[str, float] = self.summary["seconds"]

    def plot(self, errors: bool | None = None) -> Figure:
        """Maps before and after; the same as `plot_map`."""
        return self.plot_map(errors)


class Choice:
    """Parameters that were chosen, and everything that was tried."""

    parameters: dict[str, Any]
    best: dict[str, Any]
    grid: list[dict[str, Any]]
    metric: str

    @property
    def prediction(self) -> str:
        """The column of predictions that was chosen."""
        return str(self.parameters["prediction"])

    @property
    def sigma(self) -> str:
        """The bandwidth with its unit."""
        return str(self.parameters["sigma"])

    @property
    def c(self) -> float:
        """Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it."""
        return float(self.parameters["c"])

    @property
    def label_weight(self) -> float:
        """The weight of a known label against a prediction."""
        return float(self.parameters["label_weight"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the parameters, for `geosmooth smooth --params` and for `params=` here."""
        Path(path).write_text(_core.parameters_text(self.parameters), encoding="utf-8")

    def plot(self) -> Axes:
        """The score against σ: at each σ the best c and label weight that were tried."""
        return _plots.score_curve(self.grid, self.best, self.metric)


class Tuning(WithRows, Choice):
    """What `tune` found. Give it to `smooth` as `params`, or keep it with `save`."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.parameters: dict[str, Any] = result["parameters"]
        self.best: dict[str, Any] = self.summary["best"]
        self.unsmoothed: dict[str, Any] = self.summary["unsmoothed"]
        self.gain: dict[str, Any] = self.summary["gain"]
        self.grid: list[dict[str, Any]] = self.summary["grid"]
        self.metric: str = self.summary["metric"]
        self.surface: tuple[list[float], list[float], list[list[float]]] | None = result.get("surface")

    def plot_surface(self) -> Axes:
        """The score over σ and c, with everything else as chosen; needs `tune(..., surface=True)`."""
        if self.surface is None:
            raise ValueError("no surface was asked for\nhint: call tune with surface=True")
        return _plots.heat_map(self.surface, self.best, self.metric)


class Comparison(Result):
    """What `compare` found: a line for each engine, and the errors of all rows."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.reference: str = self.summary["reference"]
        self.engines: list[dict[str, Any]] = self.summary["engines"]
        self.errors: dict[str, Floats] = result["errors"]

    def plot(self) -> Axes:
        """How the errors of the engines spread, relative to the range of the values."""
        return _plots.error_histogram(self.errors)


class Standings(Result):
    """What `methods` found: the methods from best to worst."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.methods: list[dict[str, Any]] = self.summary["methods"]
        self.metric: str = self.summary["metric"]

    def plot(self) -> Axes:
        """A bar for each method."""
        return _plots.bars(self.methods, self.metric)


class Diagnosis(WithRows):
    """What `diagnose` found; `sentences` say what the figures mean."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.sentences: list[str] = result["sentences"]
        self.n_effective: Floats = result["n_effective"]
        self.gamma: float = self.summary["gamma"]
        self.beta: float = self.summary["beta"]
        self.c_star: float = self.summary["c_star"]
        self.variogram: list[dict[str, float]] = self.summary["variogram"]

    def plot(self) -> Axes:
        """The variogram: how unlike the errors of two rows are, by the distance between them."""
        return _plots.variogram(self.variogram)
