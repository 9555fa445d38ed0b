"""Choosing σ, c and the label weight on DataFrames: sums over rows are all that comes back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from geosmooth import _core
from geosmooth._functions import Length, Names, OnInvalid
from geosmooth._request import GeosmoothWarning
from geosmooth._results import Choice
from geosmooth.spark._count import Tally, count
from geosmooth.spark._jobs import job
from geosmooth.spark._request import Places, Problem, chosen, listed, places, refused
from geosmooth.spark._scores import HALVES, NAMES, SCHEMA, Sums, check, tallied

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Tuning(Choice):
    """What `tune` found. Give it to `smooth` as `params`, here or in `geosmooth`, or keep it with `save`."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.parameters: dict[str, Any] = found["parameters"]
        self.best: dict[str, Any] = found["best"]
        self.unsmoothed: dict[str, Any] = found["unsmoothed"]
        self.grid: list[dict[str, Any]] = found["grid"]
        self.metric: str = found["metric"]
        self.rows: int = found["rows"]
        self.warnings: list[str] = found["warnings"]

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={value!r}" for name, value in self.best.items())
        return f"<Tuning on {self.rows} rows, {self.metric}: {best}; unsmoothed {self.unsmoothed['score']!r}>"


def tune(
    validation: DataFrame,
    train: DataFrame | None = None,
    *,
    label: str,
    prediction: Names,
    sigma_grid: Sequence[Length],
    c_grid: Sequence[float] | None = None,
    label_weight: float | Sequence[float] = 1.0,
    metric: Literal["r2", "rmse"] = "r2",
    tolerance: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    memory_per_task: int | str = "512MiB",
) -> Tuning:
    """Finds the σ, c and label weight that score best on rows whose truth is known: `geosmooth.tune` for DataFrames of Spark.

    The truth of the validation rows only scores: it is never smoothed with. If nothing beats the predictions as they are,
    c = 0 is chosen and said. Rows are counted once for all σ; each σ with each label weight is one more job.

    Parameters
    ----------
    validation, train
        Rows to score on, and rows whose labels may be seen.
    sigma_grid, c_grid, label_weight
        Try exactly these. Without `c_grid` the best c between 0 and 1 is found for each.
    metric
        What to make best: r2 or rmse, which follow from sums.

    The other parameters are those of `smooth`.
    """
    predictions = listed(prediction, validation.columns)
    weights = [float(weight) for weight in (label_weight if isinstance(label_weight, Sequence) else [label_weight])]
    check_grids(metric, c_grid, {"sigma_grid": sigma_grid, "label_weight": weights})
    asked: dict[str, Any] = {"prediction": [*predictions, label], "tolerance": tolerance, "on_invalid": on_invalid}
    asked |= {"label": label if train is not None else None, "lat": lat, "lon": lon, "index": index, "group": group}
    for sigma in sigma_grid:
        for weight in weights:
            more = {"sigma": sigma, "c": 1.0, "label_weight": weight if train is not None else None}
            understood = refused(asked | more, {"validation": validation, "train": train})
    _core.check_kinds([str(sigma) for sigma in sigma_grid])
    where = places({}, validation, lat, lon, index, group)
    trials = Trials(validation, train, predictions, label, where, str(memory_per_task), understood["tolerance"])
    found = trials.run([str(sigma) for sigma in sigma_grid], weights if train is not None else [0.0], on_invalid)
    tuned = concluded(found, trials, c_grid, metric)
    for message in tuned.warnings:
        warnings.warn(message, GeosmoothWarning, stacklevel=2)
    return tuned


def check_grids(metric: str, c_grid: Sequence[float] | None, grids: dict[str, Sequence[Any]]) -> None:
    if metric not in ("r2", "rmse"):
        raise ValueError(f"metric is '{metric}', but must be r2 or rmse\nhint: others need all rows in one place: geosmooth.tune")
    for name, grid in {**grids, "c_grid": c_grid}.items():
        if grid is not None and len(grid) == 0:
            raise ValueError(f"the list of values of {name} to try is empty\nhint: list at least one")
    for c in c_grid or ():
        if not 0 <= c <= 1:
            raise ValueError(f"c is {c}, but must be between 0 and 1\nhint: give a value that is between 0 and 1")


class Trials:
    """Validation rows, what they are smoothed with, and how."""

    def __init__(
        self,
        validation: DataFrame,
        train: DataFrame | None,
        predictions: tuple[str, ...],
        label: str,
        where: Places,
        memory: str,
        tolerance: float,
    ) -> None:
        given = Problem(validation, train, predictions, label, where, name="<validation>", truth=label).with_plain_names()
        self.problem = replace(given, test=chosen(given.test, given.role.columns.names))
        self.spark = validation.sparkSession
        self.memory, self.tolerance = _core.bytes_of(memory), tolerance

    def run(self, sigmas: list[str], weights: list[float], on_invalid: str) -> dict[tuple[str, float], list[Sums]]:
        """The sums of each prediction, for each σ with each label weight."""
        tally = count(self.problem.frames, sigmas, self.problem.dimensions)
        tally.check(on_invalid)
        return {
            (sigma, weight): self.sums(tally, which, weight)
            for which, sigma in enumerate(sigmas)
            for weight in weights
        }

    def sums(self, tally: Tally, which: int, weight: float) -> list[Sums]:
        """The sums of each prediction over all rows, smoothed with c = 1."""
        from pyspark.sql import functions

        settings: _core.TileSettings = {
            "c": 1.0,
            "label_weight": weight,
            "tolerance": self.tolerance,
            "certificate": False,
            "memory": self.memory,
            "threads": int(self.spark.conf.get("spark.task.cpus", "1") or 1),
        }
        problem = self.problem if weight > 0 else self.problem.alone
        low, high = tally.truth(str(problem.truth))
        finish = tallied(problem.role.columns, 0.5 * low + 0.5 * high)
        lines = job(problem, tally, which, settings).run(finish, SCHEMA)
        sums = (functions.sum(name).alias(name) for name in (*NAMES, *HALVES))
        totals = lines.groupBy("prediction").agg(*sums).collect()
        for row in totals:
            check(row["low"], row["high"], tally.scored)
        found = {row["prediction"]: Sums(*(row[name] for name in NAMES)) for row in totals}
        if not found or found[0].n < 2:
            raise ValueError("fewer than two rows to tune on\nhint: give more rows as validation; hundreds are better than tens")
        if found[0].yy - found[0].y ** 2 / found[0].n <= 0:
            raise ValueError("all labels are equal, so that nothing can be scored\nhint: check the column of labels")
        return [found[k] for k in range(len(problem.predictions))]


def concluded(
    found: dict[tuple[str, float], list[Sums]], trials: Trials, c_grid: Sequence[float] | None, metric: str
) -> Tuning:
    """The best of what was tried, the first among equals; predictions as they are if nothing helps."""
    grid = [
        point(trials, metric, k, sigma, c, weight, sums)
        for (sigma, weight), columns in found.items()
        for k, sums in enumerate(columns)
        for c in (c_grid if c_grid is not None else [sums.best_c()])
    ]
    sign = 1.0 if metric == "r2" else -1.0
    as_they_are = [point(trials, metric, k, "", 0.0, 0.0, sums) for k, sums in enumerate(next(iter(found.values())))]
    unsmoothed = max(as_they_are, key=lambda line: sign * line["score"])
    best = max(grid, key=lambda line: sign * line["score"])
    helps = sign * best["score"] > sign * unsmoothed["score"]
    if not helps:
        best = {**best, "prediction": unsmoothed["prediction"], "c": 0.0, "label_weight": 0.0, "score": unsmoothed["score"]}
    said = [] if helps else [_core.NOTHING_HELPS]
    rows = int(next(iter(found.values()))[0].n)
    unsmoothed = {name: unsmoothed[name] for name in ("prediction", "score")}
    summary = {"best": best, "unsmoothed": unsmoothed, "grid": grid, "metric": metric, "rows": rows, "warnings": said}
    return Tuning({**summary, "parameters": parameters(best, unsmoothed, trials.problem, metric, rows)})


def point(trials: Trials, metric: str, k: int, sigma: str, c: float, weight: float, sums: Sums) -> dict[str, Any]:
    prediction, score = trials.problem.predictions[k], sums.score(metric, c)
    return {"prediction": prediction, "sigma": sigma, "c": c, "label_weight": weight, "score": score}


def parameters(
    best: dict[str, Any], unsmoothed: dict[str, Any], problem: Problem, metric: str, rows: int
) -> dict[str, Any]:
    """What `smooth` and the command line take."""
    where = {name: value for name, value in vars(problem.places).items() if value}
    provenance = {"rows": {"validation": rows}, "metric": metric, "score": best["score"], "unsmoothed": unsmoothed}
    chosen = {name: best[name] for name in ("prediction", "sigma", "c", "label_weight")}
    return {"version": 1, "label": problem.label, **chosen, "places": where, "provenance": provenance}
