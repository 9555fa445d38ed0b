"""The first pass counts all rows before any is moved. Each task makes one tally, and tallies are joined in a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from geosmooth._core import Census, Checksums
from geosmooth.spark._rows import Batch, Columns, Floats
from geosmooth.spark._tree import joined, partials

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Range = tuple[float, float]

NOTHING: Range = (float("inf"), float("-inf"))
"""The range of no values."""

MOST_GROUPS = 4096
"""Groups that the driver lists by name. With more of them rows are smoothed in tiles, which need no list. Chosen, not measured."""


@dataclass(frozen=True)
class Role:
    """Rows of one frame: what it is called, where its columns are, and whether they are labelled or to be predicted."""

    name: str
    columns: Columns
    labelled: bool


@dataclass
class Tally:
    """Counts, checksums and ranges of some of the rows."""

    censuses: list[Census]
    """Valid rows by place, with their checksums; one for each σ that is asked about."""
    ranges: dict[str, Range] = field(default_factory=dict)
    """Lowest and highest value of each role's columns."""
    scored: Checksums = field(default_factory=Checksums)
    """Rows with the truth that scores them."""
    invalid: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows that cannot take part, by frame and the first column that is invalid."""
    without_group: Counter[str] = field(default_factory=Counter)
    groups: set[str] = field(default_factory=set)
    """All groups, as far as they are few: with more than `MOST_GROUPS` some are missing."""
    problem: str | None = None
    """The first thing that makes a frame useless, such as a latitude of 95."""

    @classmethod
    def of_nothing(cls, sigmas: Iterable[str], axes: int) -> Tally:
        return cls([Census(sigma, axes) for sigma in sigmas])

    def add(self, batch: Batch, role: Role) -> None:
        """Counts the rows of a batch."""
        if batch.keys is not None and batch.keys.null_count:
            self.without_group[role.name] += batch.keys.null_count
            return
        if batch.keys is not None and len(self.groups) <= MOST_GROUPS:
            self.groups |= set(pc.unique(batch.keys).to_pylist())
        valid = batch.valid()
        if not valid.all():
            self.blame(batch, valid, role)
            batch = batch.take(valid)
        for name, values in zip(role.columns.values, batch.values, strict=True):
            self.widen(key(role.labelled, name), extent(values))
        if batch.truth is not None:
            self.widen(f"truth {role.columns.truth}", extent(batch.truth))
        rows = batch.hashed()
        for census in self.censuses:
            census.add(rows, role.labelled)
        if batch.truth is not None:
            self.scored.add(batch.with_truth(), False)

    def blame(self, batch: Batch, valid: Any, role: Role) -> None:
        open_rows = ~valid
        for name, column in zip(role.columns.numbers, batch.numbers, strict=True):
            bad = open_rows & ~np.isfinite(column)
            if bad.any():
                self.invalid[role.name, name] += int(bad.sum())
            open_rows &= ~bad

    def widen(self, name: str, found: Range) -> None:
        low, high = self.ranges.get(name, NOTHING)
        self.ranges[name] = (min(low, found[0]), max(high, found[1]))

    def join(self, other: Tally) -> None:
        """Adds the rows of another tally."""
        for census, more in zip(self.censuses, other.censuses, strict=True):
            census.join(more)
        for name, found in other.ranges.items():
            self.widen(name, found)
        self.scored.join(other.scored)
        self.invalid += other.invalid
        self.without_group += other.without_group
        if len(self.groups) <= MOST_GROUPS:
            self.groups |= other.groups
        self.problem = self.problem or other.problem

    def sources(self, predictions: Iterable[str], label: str | None) -> list[Range]:
        """The range of all sources of each prediction: its own values and the labels."""
        labels = NOTHING if label is None else self.ranges.get(key(True, label), NOTHING)
        ranges = [self.ranges.get(key(False, name), NOTHING) for name in predictions]
        ranges = [(min(low, labels[0]), max(high, labels[1])) for low, high in ranges]
        # Without a single row any range will do.
        return [found if found[0] <= found[1] else (0.0, 0.0) for found in ranges]

    def truth(self, name: str) -> Range:
        """The range of the truth of the rows to predict."""
        return self.ranges.get(f"truth {name}", (0.0, 0.0))

    def check(self, on_invalid: str) -> None:
        """Raises what is wrong with the rows, as the command line would say it."""
        for name, rows in self.without_group.items():
            raise ValueError(f"{name}: the group is null in {rows} rows\nhint: give every row a group")
        if self.problem is not None:
            raise ValueError(self.problem)
        if on_invalid == "error":
            for (name, column), rows in self.invalid.items():
                raise ValueError(
                    f"{name}: column '{column}' is null, NaN or infinite in {rows} rows\n"
                    'hint: mend the rows, or leave them out with on_invalid="skip"'
                )


def extent(values: Floats) -> Range:
    """The lowest and the highest of some values."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


def key(labelled: bool, column: str) -> str:
    return f"{'label' if labelled else 'prediction'} {column}"


def count(frames: list[tuple[DataFrame, Role]], sigmas: list[str], axes: int) -> Tally:
    """Counts all rows of some frames. One row reaches the driver."""
    nothing = partial(Tally.of_nothing, sigmas, axes)
    tallies = (partials(frame, nothing, counter(role)) for frame, role in frames)
    tally: Tally = joined(reduce(lambda first, second: first.union(second), tallies), nothing)
    return tally


def counter(role: Role) -> Callable[[Tally, Any], None]:
    """Counts the rows of a batch."""

    def add(tally: Tally, batch: Any) -> None:
        try:
            tally.add(Batch.of(batch, role.columns), role)
        except ValueError as wrong:
            tally.problem = tally.problem or f"{role.name}: {wrong}"

    return add
