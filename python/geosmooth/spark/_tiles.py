"""Smoothing in tiles, where σ is small against the whole: rows go to the tiles that need them, and each tile is smoothed by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geosmooth._core import Census, Partition
from geosmooth.spark._count import Range, Role
from geosmooth.spark._moments import FIELD, TileGroups
from geosmooth.spark._request import Problem, chosen, column
from geosmooth.spark._results import Added
from geosmooth.spark._rows import Batch, Columns, numbered
from geosmooth.spark._sources import HOME, ROLE, TILE, TURN, source_batch, split

if TYPE_CHECKING:
    from geosmooth._core import TileSettings
    from pyspark.sql import DataFrame

SHARE_OF_A_TILE = 0.5
"""Part of a task's memory for a tile; the rest is for the rows as they come and go, and for engines whose needs are known only when they plan. Chosen, not measured."""

FEWEST_ROWS = 50_000
"""Rows to predict in a tile on average, below which tiles are not cut smaller for the sake of more tasks. Chosen, not measured."""

MOST_COPIES = 1.5
"""Rows in all tiles for each row that there is, beyond which more tiles cost more than they share out. Chosen, not measured."""


def cut(census: Census, settings: TileSettings, ranges: list[Range], tasks: int, tile_groups: bool) -> Partition:
    """Tiles that fit a task's memory, with tile groups where there are too many rows for that, and enough tiles to keep all tasks busy where that costs little."""
    memory = int(settings["memory"] * SHARE_OF_A_TILE)
    try:
        best = Partition(census, settings, ranges, memory, tile_groups)
    except MemoryError as short:
        reason = str(short).partition("\nhint: ")[0]
        raise MemoryError(f"{reason}\nhint: raise memory_per_task, choose a smaller sigma, or give fewer rows") from None
    to_predict, rows = census.rows[0], sum(census.rows)
    while len(best.tiles) < tasks and to_predict >= 2 * FEWEST_ROWS * max(len(best.tiles), 1):
        memory //= 2
        try:
            finer = Partition(census, settings, ranges, memory, False)
        except MemoryError:
            break
        if finer.copies > MOST_COPIES * rows:
            break
        best = finer
    return best


@dataclass(frozen=True)
class Tiles:
    """A job that smooths in tiles."""

    problem: Problem
    partition: Partition
    settings: TileSettings
    groups: list[str]
    """All groups, where there are tile groups; their numbers are their places here."""

    def run(self, finish: Any, schema: Any) -> DataFrame:
        """Smooths each tile and gives what `finish` makes of its rows and results; rows that are not valid have no results."""
        test = self.in_turn(self.problem.test)
        role, partition = self.problem.role, self.partition
        home = test.mapInArrow(at_home(partition, role), self.home_schema())
        frames = [(chosen(test, [*role.columns.names, *([TURN] if partition.deals else [])]), role)]
        if self.problem.labelled is not None:
            frame, labelled = self.problem.labelled
            frames.append((self.in_turn(frame), labelled))
        work = smoother(self, role.columns, finish)
        return home.groupBy(TILE).cogroup(self.sources(frames).groupBy(TILE)).applyInArrow(work, schema)

    def sources(self, frames: list[tuple[DataFrame, Role]]) -> DataFrame:
        """What tiles need besides the rows at home: rows of their own, or the field of their tile group. Each has a line at least, so that a tile
        whose rows are all gone is noticed too."""
        partition, width, schema = self.partition, len(self.problem.predictions), self.source_schema()

        def wanted(which: Any) -> DataFrame:
            return together(frame.mapInArrow(members(partition, role, width, which), schema) for frame, role in frames)

        every = self.problem.test.sparkSession.range(0, len(partition.tiles), 1, 1).selectExpr(f"cast(id as int) as {TILE}")
        alone = partition.tiles_alone
        near = wanted(lambda tile, role: (role != HOME) & (tile < alone)).unionByName(every, allowMissingColumns=True)
        if not partition.tile_groups:
            return near
        fields = TileGroups(partition, self.problem.role.columns, self.groups).fields(wanted(lambda tile, role: tile >= alone))
        return near.unionByName(fields, allowMissingColumns=True)

    def smoothed(self, added: Added) -> DataFrame:
        """The rows to predict with their results."""
        return self.run(added.to, added.schema(self.problem.test))

    def in_turn(self, frame: DataFrame) -> DataFrame:
        """Rows with a number to deal them out by where places are crowded. It depends on what is in a row and not on where it
        stands: a task that is done again may see its rows in another order, and no row may change its tile."""
        if not self.partition.deals:
            return frame
        from pyspark.sql import functions

        # What cannot be hashed cannot be told apart.
        names = [field.name for field in frame.schema.fields if "map<" not in field.dataType.simpleString()]
        return frame.withColumn(TURN, functions.xxhash64(*(column(name) for name in names)))

    def home_schema(self) -> Any:
        from pyspark.sql.types import IntegerType, StructField, StructType

        return StructType([*self.problem.test.schema.fields, StructField(TILE, IntegerType())])

    def source_schema(self) -> str:
        axes = [f"a{k} double" for k in range(self.problem.dimensions)]
        values = [f"v{k} double" for k in range(len(self.problem.predictions))]
        return ", ".join([f"{TILE} int", f"{ROLE} tinyint", "key string", *axes, *values])


def together(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames."""
    return reduce(lambda first, second: first.union(second), frames)


def at_home(partition: Partition, role: Role) -> Any:
    """Rows to predict with the tile that smooths them; those that are not valid stay together with those of their task."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, role.columns)
            valid = np.flatnonzero(rows.valid())
            row, tile, roles = partition.memberships(rows.take(valid).hashed(), False, turns(batch, valid))
            tiles, home = np.full(batch.num_rows, -1 - task(), dtype=np.int32), roles == HOME
            tiles[valid[row[home]]] = tile[home]
            kept = batch.drop_columns([TURN]) if TURN in batch.schema.names else batch
            yield kept.append_column(TILE, pa.array(tiles))

    return work


def members(partition: Partition, role: Role, width: int, wanted: Callable[[Any, Any], Any]) -> Any:
    """Rows as sources of those of their tiles that are wanted, by tile and role. Labels have one value, and are sources of all columns."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = Batch.of(batch, role.columns)
            valid = np.flatnonzero(rows.valid())
            rows = rows.take(valid)
            row, tile, roles = partition.memberships(rows.hashed(), role.labelled, turns(batch, valid))
            some = wanted(tile, roles)
            yield source_batch(rows.take(row[some]), tile[some], roles[some], width)

    return work


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
    partition, settings, tile_groups = tiles.partition, tiles.settings, TileGroups(tiles.partition, columns, tiles.groups)

    def work(key: tuple[Any, ...], home: pa.Table, sources: pa.Table) -> pa.Table:
        mine, tile = home.drop_columns([TILE]), key[0].as_py()
        if tile < 0:
            return finish(mine, None)
        if (which := tile_groups.of(tile)) is not None:
            smoothed = tile_groups.smoothed(which, tile, mine, sources.column(FIELD), settings["c"])
        else:
            at_home, near, labelled = numbered([Batch.of(mine, columns), *split(sources, columns)[1:]])
            smoothed = partition.smooth(settings, tile, (at_home, near, labelled))
        return finish(mine, smoothed if mine.num_rows else None)

    return work
