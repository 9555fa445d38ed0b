"""Where σ is so wide that everything reaches everything: what rows add up to at the nodes of lattices is joined and handed to all
tasks, which read their rows' results off it. No row leaves the task that computes it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth._core import Blueprint, Census, Checksums, Field, Moments
from geosmooth.spark._count import Range, Role
from geosmooth.spark._request import Problem
from geosmooth.spark._results import Added
from geosmooth.spark._rows import Batch, Floats
from geosmooth.spark._tree import fewer, joined

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
    counted: Checksums
    """All rows that take part."""

    def run(self, finish: Any, schema: Any) -> DataFrame:
        """Adds all rows up, now, and gives what `finish` makes of each batch of rows and its results."""
        work = reader(self, self.field(), finish)
        return self.problem.test.mapInArrow(work, schema)

    def smoothed(self, added: Added) -> DataFrame:
        """The rows to predict with their results."""
        schema = added.schema(self.problem.test)
        return self.run(added.to, schema).union(self.nothing_if_the_same(schema))

    def nothing_if_the_same(self, schema: Any) -> DataFrame:
        """No rows, but an error if the rows to predict are no longer those that were counted. This reads them once more, in the job in which results are read off:
        tasks that read them off see some rows each, in whatever parts these come, and are not done together."""
        ((frame, role), *_) = self.problem.frames
        few = fewer(frame.mapInArrow(teller(role), SCHEMA), summing, SCHEMA)
        return few.mapInArrow(judge(self.counted.with_label_weight(0.0)), schema)

    def field(self) -> Field:
        """What all sources give to every row, if they are those that were counted."""
        partial: DataFrame | None = None
        for frame, role in self.problem.frames:
            added = frame.mapInArrow(adder(self, role), SCHEMA)
            partial = added if partial is None else partial.union(added)
        assert partial is not None
        moments, seen = pickle.loads(joined(partial, joiner(self.settings["memory"]), SCHEMA))
        seen.check(self.counted)
        field: Field = moments.field(self.blueprint)
        return field


def check(moments: Moments, memory: int) -> None:
    """Groups may have more nodes between them than was thought."""
    if moments.nbytes > memory:
        raise MemoryError("the nodes of lattices need more than a task may take\nhint: raise memory_per_task")


def adder(wide: Wide, role: Role) -> Any:
    """Makes moments of all batches of a task."""
    blueprint, groups, memory = wide.blueprint, wide.groups, wide.settings["memory"]

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        moments, seen = Moments(), Checksums()
        for table in gathered(batches):
            rows = Batch.of(table, role.columns)
            valid = rows.take(rows.valid()).listed(groups)
            moments.add(blueprint, valid, role.labelled)
            seen.add(valid, role.labelled)
            check(moments, memory)
        yield packed((moments, seen))

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


def packed(told: tuple[Moments, Checksums] | Checksums) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(told)], pa.binary())], ["moments"])


def joiner(memory: int) -> Any:
    """Makes one of many."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        moments, seen = Moments(), Checksums()
        for batch in batches:
            for value in batch.column(0):
                more, others = pickle.loads(value.as_py())
                moments.join(more)
                seen.join(others)
                check(moments, memory)
        yield packed((moments, seen))

    return work


def teller(role: Role) -> Any:
    """Makes checksums of all batches of a task."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Checksums()
        for batch in batches:
            rows = Batch.of(batch, role.columns)
            seen.add(rows.take(rows.valid()).rows(None), role.labelled)
        yield packed(seen)

    return work


def summing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Makes one of many."""
    yield packed(sum_of(batches))


def sum_of(batches: Iterable[pa.RecordBatch]) -> Checksums:
    seen = Checksums()
    for batch in batches:
        for value in batch.column(0):
            seen.join(pickle.loads(value.as_py()))
    return seen


def judge(counted: Checksums) -> Any:
    """Raises if rows are not those that were counted. There is nothing else to say."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sum_of(batches).check(counted)
        yield from ()

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
