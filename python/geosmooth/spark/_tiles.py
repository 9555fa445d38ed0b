"""The second pass where σ is small against the whole: rows go to the tiles that need them, and each tile is smoothed by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geosmooth._core import Census, Partition
from geosmooth.spark._count import Range, Role
from geosmooth.spark._request import Problem, chosen, column
from geosmooth.spark._results import Added
from geosmooth.spark._rows import Batch, Columns, numbered

if TYPE_CHECKING:
    from geosmooth._core import TileSettings
    from pyspark.sql import DataFrame

TILE, TURN, LABELLED = "__geosmooth_tile", "__geosmooth_turn", "__geosmooth_labelled"
"""Columns of ours among those of the user."""

SHARE_OF_A_TILE = 0.5
"""Part of a task's memory for a tile; the rest is for the rows as they come and go, and for engines whose needs are known only when they plan."""

FEWEST_ROWS = 50_000
"""Rows to predict in a tile on average, below which tiles are not cut smaller for the sake of more tasks. A guess, not a measurement."""

MOST_COPIES = 1.5
"""Rows in all tiles against rows that there are, beyond which more tiles move more than they share out."""


def cut(census: Census, settings: TileSettings, columns: int, tasks: int) -> Partition:
    """Tiles that fit a task's memory, and enough of them to keep all tasks busy where that costs little."""
    memory = int(settings["memory"] * SHARE_OF_A_TILE)

    def tiles(memory: int) -> Partition:
        weight, tolerance = settings["label_weight"], settings["tolerance"]
        return Partition(census, weight, tolerance, memory, columns, settings["certificate"])

    try:
        best = tiles(memory)
    except MemoryError as short:
        reason = str(short).partition("\nhint: ")[0]
        raise MemoryError(f"{reason}\nhint: raise memory_per_task, choose a smaller sigma, or give fewer rows") from None
    to_predict, rows = census.rows[0], sum(census.rows)
    while len(best.tiles) < tasks and to_predict >= 2 * FEWEST_ROWS * max(len(best.tiles), 1):
        memory //= 2
        try:
            finer = tiles(memory)
        except MemoryError:
            break
        if copies(finer) > MOST_COPIES * rows:
            break
        best = finer
    return best


def copies(partition: Partition) -> int:
    """Rows in all tiles, guests among them."""
    return sum(sources for _, sources in partition.tiles)


@dataclass(frozen=True)
class Tiles:
    """A job that smooths in tiles."""

    problem: Problem
    partition: Partition
    settings: TileSettings
    ranges: list[Range]

    def run(self, finish: Any, schema: Any) -> DataFrame:
        """Smooths each tile and gives what `finish` makes of its rows and results; rows that are not valid have no results."""
        test = self.in_turn()
        role, partition = self.problem.role, self.partition
        home = test.mapInArrow(at_home(partition, role), self.home_schema())
        mine = chosen(test, [*role.columns.names, *([TURN] if partition.deals else [])])
        width, schema_of_sources = len(self.problem.predictions), self.source_schema()
        sources = mine.mapInArrow(guests(partition, role, width), schema_of_sources)
        if self.problem.labelled is not None:
            frame, labelled = self.problem.labelled
            sources = sources.union(frame.mapInArrow(guests(partition, labelled, width), schema_of_sources))
        work = smoother(self, role.columns, finish)
        return home.groupBy(TILE).cogroup(sources.groupBy(TILE)).applyInArrow(work, schema)

    def smoothed(self, added: Added) -> DataFrame:
        """The rows to predict with their results."""
        return self.run(added.to, added.schema(self.problem.test))

    def in_turn(self) -> DataFrame:
        """The rows to predict, with a number to deal them out by where places are crowded. It depends on what is in a row and not on where it
        stands: a task that is done again may see its rows in another order, and no row may change its home."""
        test = self.problem.test
        if not self.partition.deals:
            return test
        from pyspark.sql import functions

        # What cannot be hashed cannot be told apart.
        names = [field.name for field in test.schema.fields if "map<" not in field.dataType.simpleString()]
        return test.withColumn(TURN, functions.xxhash64(*(column(name) for name in names)))

    def home_schema(self) -> Any:
        from pyspark.sql.types import IntegerType, StructField, StructType

        return StructType([*self.problem.test.schema.fields, StructField(TILE, IntegerType())])

    def source_schema(self) -> str:
        axes = [f"a{k} double" for k in range(self.problem.dimensions)]
        values = [f"v{k} double" for k in range(len(self.problem.predictions))]
        return ", ".join([f"{TILE} int", f"{LABELLED} boolean", "key string", *axes, *values])


def at_home(partition: Partition, role: Role) -> Any:
    """Rows to predict with the tile that smooths them; those that are not valid stay together with those of their task."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, role.columns)
            valid = np.flatnonzero(rows.valid())
            row, tile, home = partition.visits(rows.take(valid).hashed(), False, turns(batch, valid))
            tiles = np.full(batch.num_rows, -1 - task(), dtype=np.int32)
            tiles[valid[row[home]]] = tile[home]
            kept = batch.drop_columns([TURN]) if TURN in batch.schema.names else batch
            yield kept.append_column(TILE, pa.array(tiles))

    return work


def guests(partition: Partition, role: Role, width: int) -> Any:
    """Rows as sources of tiles where they are not at home: labelled rows, and rows to predict of other tiles. Labels have one value, and are
    sources of all columns."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, role.columns)
            valid = np.flatnonzero(rows.valid())
            rows = rows.take(valid)
            row, tile, home = partition.visits(rows.hashed(), role.labelled, turns(batch, valid))
            yield source_batch(rows.take(row[~home]), tile[~home], role.labelled, width)

    return work


def source_batch(rows: Batch, tiles: NDArray[np.int32], labelled: bool, width: int) -> pa.RecordBatch:
    """Sources with their tile, in so many columns of values."""
    count = len(tiles)
    keys = pa.nulls(count, pa.string()) if rows.keys is None else rows.keys.cast(pa.string())
    columns = {TILE: pa.array(tiles), LABELLED: pa.array(np.full(count, labelled)), "key": keys}
    columns |= {f"a{k}": pa.array(axis) for k, axis in enumerate(rows.axes)}
    columns |= {f"v{k}": pa.nulls(count, pa.float64()) for k in range(width)}
    columns |= {f"v{k}": pa.array(values) for k, values in enumerate(rows.values)}
    return pa.RecordBatch.from_pydict(columns)


def turns(batch: pa.RecordBatch, valid: NDArray[np.intp]) -> NDArray[np.int64] | None:
    if TURN not in batch.schema.names:
        return None
    numbers: NDArray[np.int64] = batch.column(TURN).to_numpy(zero_copy_only=False)[valid]
    return numbers


def task() -> int:
    """The number of the partition that this task is about."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def smoother(tiles: Tiles, columns: Columns, finish: Any) -> Any:
    """Smooths one tile."""
    partition, settings, ranges = tiles.partition, tiles.settings, tiles.ranges

    def work(key: tuple[Any, ...], home: pa.Table, sources: pa.Table) -> pa.Table:
        mine = home.drop_columns([TILE])
        if key[0].as_py() < 0 or home.num_rows == 0:
            return finish(mine, None)
        at_home, near, labelled = numbered([Batch.of(mine, columns), *split(sources, columns)])
        smoothed = partition.smooth(settings, at_home, near, labelled, ranges)
        return finish(mine, smoothed)

    return work


def split(sources: pa.Table, columns: Columns) -> list[Batch]:
    """Guests and labelled rows of a tile."""
    axes, values = tuple(f"a{k}" for k in range(len(columns.axes))), tuple(f"v{k}" for k in range(len(columns.values)))
    group = None if columns.group is None else "key"
    if sources.num_rows == 0:
        keys = None if group is None else pa.array([], pa.large_string())
        return [Batch([np.empty(0)] * len(axes), [np.empty(0)] * width, keys) for width in (len(values), 1)]
    rows = Batch.of(sources, Columns(axes, values, group))
    labelled = sources.column(LABELLED).to_numpy()
    labels = rows.take(labelled)
    return [rows.take(~labelled), Batch(labels.axes, labels.values[:1], labels.keys)]

