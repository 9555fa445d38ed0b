"""Scores from sums: what tuning needs to know of the rows, whatever their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from geosmooth._core import THE_SAME_EACH_TIME, Checksums
from geosmooth.spark._rows import Batch, Columns, Floats

NAMES = ("n", "y", "yy", "rr", "rs", "ss")
HALVES = ("low", "high")
"""Halves of 64 bits: sums of these do not overflow."""
MASK = (1 << 32) - 1
SCHEMA = "prediction int, " + ", ".join([*(f"{name} double" for name in NAMES), *(f"{name} bigint" for name in HALVES)])


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


def tallied(columns: Columns, centre: float) -> Any:
    """Makes the sums of rows that were smoothed with c = 1, with what is to show that they are those that were counted. The truth is taken from a centre, so that
    its spread does not drown in its size."""

    def finish(rows: Any, smoothed: dict[str, Any] | None, valid: Any = None) -> pa.Table:
        if smoothed is None:
            return table([])
        kept = rows if valid is None else rows.filter(pa.array(valid))
        scored, seen = Batch.of(kept, columns), Checksums()
        seen.add(scored.with_truth(), False)
        label = scored.known() - centre
        before = [values - centre for values in scored.values]
        after = [means - centre for means in smoothed["values"]]
        return table([Sums.of(label, *pair) for pair in zip(before, after, strict=True)], seen)

    return finish


def table(sums: Sequence[Sums], seen: Checksums | None = None) -> pa.Table:
    """A line for each prediction."""
    columns = {"prediction": pa.array(range(len(sums)), pa.int32())}
    columns |= {name: pa.array([getattr(line, name) for line in sums], pa.float64()) for name in NAMES}
    hashes = 0 if seen is None else seen.sums[0]
    halves = zip(HALVES, (hashes & MASK, hashes >> 32), strict=True)
    columns |= {name: pa.array([half] * len(sums), pa.int64()) for name, half in halves}
    return pa.table(columns)


def check(low: int, high: int, counted: Checksums) -> None:
    """Raises if the rows that were scored are not those that were counted."""
    if (low + (high << 32)) % (1 << 64) != counted.sums[0]:
        raise ValueError(f"the rows that were scored are not those that were counted\nhint: {THE_SAME_EACH_TIME}")
