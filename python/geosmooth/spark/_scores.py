"""Scores from sums: what tuning needs to know of the rows, whatever their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from geosmooth.spark._rows import Floats, numbers

NAMES = ("n", "y", "yy", "rr", "rs", "ss")
SCHEMA = "prediction int, " + ", ".join(f"{name} double" for name in NAMES)


@dataclass(frozen=True)
class Sums:
    """Sums over rows: of the truth y and its square, and of products of what is left, r = y − ŷ, and the step to the average, s = m − ŷ."""

    n: float
    y: float
    yy: float
    rr: float
    rs: float
    ss: float

    @classmethod
    def of(cls, truth: Floats, predictions: Floats, means: Floats) -> Sums:
        left, step = truth - predictions, means - predictions
        pairs = ((truth, truth), (left, left), (left, step), (step, step))
        return cls(len(truth), float(truth.sum()), *(float(np.dot(a, b)) for a, b in pairs))

    def best_c(self) -> float:
        """⟨r, s⟩ / ‖s‖², cut to between 0 and 1, with four decimals, as it is written down: the least squared error there is."""
        return round(min(max(self.rs / self.ss, 0.0), 1.0), 4) if self.ss > 0 else 0.0

    def score(self, metric: str, c: float) -> float:
        """R² or the root of the mean squared error at c."""
        error = max(self.rr - 2 * c * self.rs + c * c * self.ss, 0.0)
        if metric == "rmse":
            return sqrt(error / self.n)
        return 1 - error / (self.yy - self.y * self.y / self.n)


def tallied(truth: str, predictions: Sequence[str], centre: float) -> Any:
    """Makes the sums of rows that were smoothed with c = 1. The truth is taken from a centre, so that its spread does not drown in its size."""

    def finish(rows: Any, smoothed: dict[str, Any] | None, valid: Any = None) -> pa.Table:
        if smoothed is None:
            return table([])
        kept = rows if valid is None else rows.filter(pa.array(valid))
        label = numbers(kept.column(truth)) - centre
        before = [numbers(kept.column(name)) - centre for name in predictions]
        after = [means - centre for means in smoothed["values"]]
        return table([Sums.of(label, *pair) for pair in zip(before, after, strict=True)])

    return finish


def table(sums: Sequence[Sums]) -> pa.Table:
    """A line for each prediction."""
    columns = {"prediction": pa.array(range(len(sums)), pa.int32())}
    columns |= {name: pa.array([getattr(line, name) for line in sums], pa.float64()) for name in NAMES}
    return pa.table(columns)
