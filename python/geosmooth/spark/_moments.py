"""Where σ is so wide that everything reaches everything: what rows add up to at the nodes of lattices is joined and handed to all
tasks, which read their rows' results off it. No row leaves the task that computes it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth._core import Blueprint, Census, Field, Moments
from geosmooth.spark._count import Range, Role
from geosmooth.spark._request import Problem
from geosmooth.spark._results import Added
from geosmooth.spark._rows import Batch, Floats
from geosmooth.spark._tree import joined

if TYPE_CHECKING:
    from geosmooth._core import TileSettings
    from pyspark.sql import DataFrame

MOST_BYTES = 128 << 20
"""Moments that one task may tell: all of them travel through the driver."""

MOST_CELLS = 1 << 15
"""Cubes of side σ with rows in them, beyond which lattices are not looked for: they would be as large as the rows, and finding that out took the
driver 7 s for two million rows of a country at 500 m (2026-11-18)."""

ROWS_AT_ONCE = 1 << 18
"""Rows that are added at a time: moments are certified for 16384 additions."""

SCHEMA = "moments binary"


def laid_out(census: Census, settings: TileSettings, ranges: list[Range]) -> Blueprint | None:
    """Lattices that certify all rows, if they are small enough to be sent around."""
    if census.occupied > MOST_CELLS:
        return None
    limit = min(settings["memory"] // 2, MOST_BYTES)
    weight, tolerance = settings["label_weight"], settings["tolerance"]
    return Blueprint.laid_out(census, weight, tolerance, ranges, settings["certificate"], limit)


@dataclass(frozen=True)
class Wide:
    """A job that smooths by moments."""

    problem: Problem
    blueprint: Blueprint
    settings: TileSettings
    groups: list[str]
    """All groups there are; their numbers are their places here."""

    def run(self, finish: Any, schema: Any) -> DataFrame:
        """Adds all rows up, now, and gives what `finish` makes of each batch of rows and its results."""
        work = reader(self, self.field(), finish)
        return self.problem.test.mapInArrow(work, schema)

    def smoothed(self, added: Added) -> DataFrame:
        """The rows to predict with their results."""
        return self.run(added.to, added.schema(self.problem.test))

    def field(self) -> Field:
        """What all sources give to every row."""
        partial: DataFrame | None = None
        for frame, role in self.problem.frames:
            added = frame.mapInArrow(adder(self, role), SCHEMA)
            partial = added if partial is None else partial.union(added)
        assert partial is not None
        moments: Moments = pickle.loads(joined(partial, joiner(self.settings["memory"]), SCHEMA))
        return moments.field(self.blueprint)


def check(moments: Moments, memory: int) -> None:
    """Groups may have more nodes between them than was thought."""
    if moments.nbytes > memory:
        raise MemoryError("the nodes of lattices need more than a task may take\nhint: raise memory_per_task")


def adder(wide: Wide, role: Role) -> Any:
    """Makes moments of all batches of a task."""
    blueprint, groups, memory = wide.blueprint, wide.groups, wide.settings["memory"]

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        moments = Moments()
        for table in gathered(batches):
            rows = Batch.of(table, role.columns)
            moments.add(blueprint, rows.take(rows.valid()).listed(groups), role.labelled)
            check(moments, memory)
        yield packed(moments)

    return work


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they have many rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(len(part) for part in held) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def packed(moments: Moments) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(moments)], pa.binary())], ["moments"])


def joiner(memory: int) -> Any:
    """Makes one of many."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        moments = Moments()
        for batch in batches:
            for value in batch.column(0):
                moments.join(pickle.loads(value.as_py()))
                check(moments, memory)
        yield packed(moments)

    return work


def reader(wide: Wide, field: Field, finish: Any) -> Any:
    """Reads the results of all rows of a task off a field."""
    columns, blueprint, groups, c = wide.problem.role.columns, wide.blueprint, wide.groups, wide.settings["c"]

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, columns)
            valid = rows.valid()
            some = valid.any()
            smoothed = field.smooth(blueprint, c, rows.take(valid).listed(groups)) if some else None
            yield from finish(pa.Table.from_batches([batch]), smoothed, valid).to_batches()

    return work
