"""Smoothing by moments: the rows of a tile group are added up at the nodes of lattices, and the field that they make together goes to all tasks, which read
the results of their rows off it.

Where σ is so wide that everything reaches everything, one group holds all rows, and no row leaves the task that computes it. Where more rows are within reach of one place
than a task holds, a partition has groups of tiles; their rows are dealt out among the tiles.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth._core import THE_SAME_EACH_TIME, Census, Checksums, GroupField, GroupMoments, Partition, TileGroup
from geosmooth.spark._count import Range, Role
from geosmooth.spark._request import Problem
from geosmooth.spark._results import Added
from geosmooth.spark._rows import Batch, Columns
from geosmooth.spark._sources import HOME, LABELLED, TILE, split
from geosmooth.spark._tree import fewer, join, joined, partials

if TYPE_CHECKING:
    from geosmooth._core import TileSettings
    from pyspark.sql import DataFrame

MOST_BYTES = 128 << 20
"""Bytes that the moments of all rows may take: they all travel through the driver. Chosen, not measured."""

MOST_CELLS = 1 << 15
"""Cubes of side σ with rows in them, beyond which lattices for all rows are not looked for: they would be as large as the rows, and finding that out took the
driver 7 s for two million rows of a country at 500 m (2026-11-18)."""

ROWS_AT_ONCE = 1 << 18
"""Rows that are added at a time: moments are certified for 16384 additions, so this allows 4 · 10⁹ rows in a task. Chosen, not measured."""

FIELD = "__geosmooth_field"
"""The column with the field of a tile group."""

FAN = 4
"""Moments of a tile group that are joined at a time: each takes a quarter of a tile's memory at most, and a message of Arrow two gigabytes."""

PARTS = "tile_group int, part int, moments binary"


def group_of_all(census: Census, settings: TileSettings, ranges: list[Range]) -> TileGroup | None:
    """One group of all rows, if lattices that are small enough to be sent around certify them."""
    if census.occupied > MOST_CELLS:
        return None
    return TileGroup.whole(census, settings, ranges, min(settings["memory"] // 2, MOST_BYTES))


class LimitedMoments:
    """Moments so far, within a task's memory."""

    def __init__(self, memory: int) -> None:
        self.moments, self.memory = GroupMoments(), memory

    def add(self, group: TileGroup, tile: int, role: int, rows: Any) -> None:
        self.moments.add(group, tile, role, rows)
        self.check()

    def join(self, other: LimitedMoments) -> None:
        self.moments.join(other.moments)
        self.check()

    def check(self) -> None:
        """Groups may have more nodes between them than was planned."""
        if self.moments.nbytes > self.memory:
            raise MemoryError("the nodes of lattices need more than a task may take\nhint: raise memory_per_task")


@dataclass(frozen=True)
class Moments:
    """A job that smooths all rows by their moments, as one group."""

    problem: Problem
    group: TileGroup
    settings: TileSettings
    groups: list[str]
    """All groups there are; their numbers are their places here."""
    counted: Checksums
    """All rows to predict."""

    def run(self, finish: Any, schema: Any) -> DataFrame:
        """Adds all rows up, now, and gives what `finish` makes of each batch of rows and its results."""
        return self.problem.test.mapInArrow(reader(self, self.field(), finish), schema)

    def smoothed(self, added: Added) -> DataFrame:
        """The rows to predict with their results."""
        schema = added.schema(self.problem.test)
        return self.run(added.to, schema).union(self.nothing_if_the_same(schema))

    def nothing_if_the_same(self, schema: Any) -> DataFrame:
        """No rows, but an error if the rows to predict are no longer those that were counted. This reads them once more, in the job in which results are read off:
        the tasks of that job see some rows each and do not end together.

        All columns are read, as for the results. Were some left out, Spark could distribute the rows in another order in the two readings, and a function such as
        `rand` would give other values in the one that is checked."""
        few = fewer(partials(self.problem.test, Checksums, lister(self.problem.role)), Checksums)
        return few.mapInArrow(checker(self.counted), schema)

    def field(self) -> GroupField:
        """What all sources give to every row, if they are those that were counted."""
        memory = self.settings["memory"]
        added = (partials(frame, lambda: LimitedMoments(memory), adder(self, role), gathered) for frame, role in self.problem.frames)
        total: LimitedMoments = joined(reduce(lambda first, second: first.union(second), added), lambda: LimitedMoments(memory))
        return total.moments.field(self.group)


def adder(job: Moments, role: Role) -> Callable[[LimitedMoments, pa.Table], None]:
    """Adds the rows of a table to moments."""
    group, groups = job.group, job.groups

    def add(total: LimitedMoments, table: pa.Table) -> None:
        rows = Batch.of(table, role.columns)
        total.add(group, 0, LABELLED if role.labelled else HOME, rows.take(rows.valid()).listed(groups))

    return add


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


def lister(role: Role) -> Callable[[Checksums, pa.RecordBatch], None]:
    """Adds the rows of a batch to checksums."""

    def add(seen: Checksums, batch: pa.RecordBatch) -> None:
        rows = Batch.of(batch, role.columns)
        seen.add(rows.take(rows.valid()).rows(None), role.labelled)

    return add


def checker(counted: Checksums) -> Any:
    """Raises if rows are not those that were counted, and gives no rows."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        join(batches, Checksums).check(counted)
        yield from ()

    return work


def reader(job: Moments, field: GroupField, finish: Any) -> Any:
    """Reads the results of all rows of a task off a field."""
    columns, group, groups, c = job.problem.role.columns, job.group, job.groups, job.settings["c"]

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, columns)
            valid = rows.valid()
            smoothed = field.smooth(group, c, rows.take(valid).listed(groups)) if valid.any() else None
            yield from finish(pa.Table.from_batches([batch]), smoothed, valid).to_batches()

    return work


@dataclass(frozen=True)
class TileGroups:
    """The tile groups of a partition, for rows in these columns."""

    partition: Partition
    columns: Columns
    groups: list[str]
    """All groups of rows; their numbers are their places here."""

    def of(self, tile: int) -> int | None:
        """The tile group of a tile, if it is in one."""
        return next((which for which, (first, end) in enumerate(self.partition.tile_groups) if first <= tile < end), None)

    def fields(self, members: DataFrame) -> DataFrame:
        """The field of its tile group for each tile, from all rows that are in one."""
        from pyspark.sql import functions

        moments = members.groupBy(TILE).applyInArrow(self.adder(), PARTS)
        left = max(end - first for first, end in self.partition.tile_groups)
        while left > 1:
            left = ceil(left / FAN)
            parts = moments.withColumn("part", functions.expr(f"part div {FAN}").cast("int"))
            moments = parts.groupBy("tile_group", "part").applyInArrow(joined_parts, PARTS)
        fields = moments.mapInArrow(self.finisher(), f"first int, last int, {FIELD} binary")
        return fields.select(functions.explode(functions.sequence("first", "last")).alias(TILE), FIELD)

    def adder(self) -> Any:
        """Makes moments of the rows of a tile."""

        def work(key: tuple[Any, ...], members: pa.Table) -> pa.Table:
            tile = key[0].as_py()
            which = self.of(tile)
            assert which is not None
            group, moments = self.partition.tile_group(which), GroupMoments()
            for role, rows in enumerate(split(members, self.columns)):
                moments.add(group, tile, role, rows.listed(self.groups))
            return part_of(which, tile - self.partition.tile_groups[which][0], moments)

        return work

    def finisher(self) -> Any:
        """Makes the field of a tile group of its moments, with the first and the last of its tiles."""

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    which = row["tile_group"]
                    first, end = self.partition.tile_groups[which]
                    field = pickle.loads(row["moments"]).field(self.partition.tile_group(which))
                    found = {"first": pa.array([first], pa.int32()), "last": pa.array([end - 1], pa.int32())}
                    yield pa.RecordBatch.from_pydict({**found, FIELD: pa.array([pickle.dumps(field)], pa.binary())})

        return work

    def smoothed(self, which: int, tile: int, home: pa.Table, fields: pa.ChunkedArray, c: float) -> Any:
        """The results of rows that are at home in a tile of a tile group, if they are those that were added up there."""
        fields = fields.drop_null()
        if len(fields) == 0:
            raise ValueError(f"a tile group has none of the rows that were counted\nhint: {THE_SAME_EACH_TIME}")
        field, seen = pickle.loads(fields[0].as_py()), Checksums()
        rows = Batch.of(home, self.columns).listed(self.groups)
        seen.add(rows, False)
        field.check(tile, seen)
        return field.smooth(self.partition.tile_group(which), c, rows)


def joined_parts(key: tuple[Any, ...], partial: pa.Table) -> pa.Table:
    """Makes one of some moments of a tile group."""
    return part_of(key[0].as_py(), key[1].as_py(), join([partial.select(["moments"])], GroupMoments))


def part_of(which: int, part: int, moments: GroupMoments) -> pa.Table:
    numbers = {"tile_group": pa.array([which], pa.int32()), "part": pa.array([part], pa.int32())}
    return pa.table({**numbers, "moments": pa.array([pickle.dumps(moments)], pa.binary())})
