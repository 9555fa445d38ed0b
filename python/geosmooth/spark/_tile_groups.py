"""TileGroups: more rows are within reach of one place than a task holds. They are dealt out among the tiles of their tile group, each tile adds up the moments of its
rows, and the field that these make together goes to all tiles of the tile group, which read their rows' results off it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth._core import THE_SAME_EACH_TIME, Checksums, Moments, Partition
from geosmooth.spark._rows import Batch, Columns
from geosmooth.spark._sources import HOME, LABELLED, TILE, split

if TYPE_CHECKING:
    from geosmooth._core import Rows
    from pyspark.sql import DataFrame

FIELD = "__geosmooth_field"
"""The column with the field of a crowd."""

FAN = 4
"""Moments that are joined at a time: each takes a quarter of a tile's memory at most, and a message of Arrow two gigabytes."""

SCHEMA = "tile_group int, part int, moments binary"


@dataclass
class Added:
    """What rows of some tiles of a tile group add up to."""

    moments: Moments
    rows: Checksums
    homes: dict[int, Checksums]
    """Rows at home in each of these tiles: those that will be read off there."""

    def join(self, other: Added) -> None:
        self.moments.join(other.moments)
        self.rows.join(other.rows)
        self.homes |= other.homes


@dataclass(frozen=True)
class TileGroups:
    """The tile groups of a partition, for rows in these columns."""

    partition: Partition
    columns: Columns
    groups: list[str]

    def of(self, tile: int) -> int | None:
        """The tile group of a tile, if it is in one."""
        return next((tile_group for tile_group, (first, end) in enumerate(self.partition.tile_groups) if first <= tile < end), None)

    def fields(self, members: DataFrame) -> DataFrame:
        """The field of its tile group for each tile, from all rows that are in one."""
        from pyspark.sql import functions

        moments = members.groupBy(TILE).applyInArrow(self.adder(), SCHEMA)
        left = max(end - first for first, end in self.partition.tile_groups)
        while left > 1:
            left = ceil(left / FAN)
            fewer = moments.withColumn("part", functions.expr(f"part div {FAN}").cast("int"))
            moments = fewer.groupBy("tile_group", "part").applyInArrow(joined, SCHEMA)
        fields = moments.mapInArrow(self.finisher(), f"first int, last int, {FIELD} binary")
        tiles = functions.explode(functions.sequence("first", "last")).alias(TILE)
        return fields.select(tiles, FIELD)

    def adder(self) -> Any:
        """Makes moments of the rows of a tile."""

        def work(key: tuple[Any, ...], members: pa.Table) -> pa.Table:
            tile = key[0].as_py()
            tile_group = self.of(tile)
            assert tile group is not None
            blueprint, moments, seen = self.partition.blueprint(tile_group), Moments(), Checksums()
            rows, labels = split(members, self.columns)
            at_home = members.column(HOME).to_numpy()[~members.column(LABELLED).to_numpy()]
            home, guests, labelled = (part.listed(self.groups) for part in (rows.take(at_home), rows.take(~at_home), labels))
            moments.add(blueprint, home, False)
            moments.add_guests(blueprint, guests)
            moments.add(blueprint, labelled, True)
            for part, is_labelled in ((home, False), (guests, False), (labelled, True)):
                seen.add(part, is_labelled)
            added = Added(moments, seen, {tile: checksums(home)})
            return packed(tile_group, tile - self.partition.tile_groups[tile_group][0], added)

        return work

    def finisher(self) -> Any:
        """Makes the field of a tile group of its moments, with the first and the last of its tiles, if all its rows are those that were counted."""

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    first, end = self.partition.tile_groups[row["tile_group"]]
                    added: Added = pickle.loads(row["moments"])
                    added.rows.check(self.partition.counted(row["tile_group"]))
                    field = added.moments.field(self.partition.blueprint(row["tile_group"]))
                    found = {"first": pa.array([first], pa.int32()), "last": pa.array([end - 1], pa.int32())}
                    yield pa.RecordBatch.from_pydict({**found, FIELD: pa.array([pickle.dumps((field, added.homes))], pa.binary())})

        return work

    def smoothed(self, tile_group: int, tile: int, home: pa.Table, fields: pa.ChunkedArray, c: float) -> Any:
        """The results of rows that are at home in a tile of a tile group, if they are those that were added up there."""
        fields = fields.drop_null()
        if len(fields) == 0:
            raise ValueError(f"a tile group has none of the rows that were counted\nhint: {THE_SAME_EACH_TIME}")
        field, homes = pickle.loads(fields[0].as_py())
        rows = Batch.of(home, self.columns).listed(self.groups)
        checksums(rows).check(homes.get(tile, Checksums()))
        return field.smooth(self.partition.blueprint(tile_group), c, rows)


def checksums(rows: Rows) -> Checksums:
    """Those of rows to predict."""
    seen = Checksums()
    seen.add(rows, False)
    return seen


def joined(key: tuple[Any, ...], partial: pa.Table) -> pa.Table:
    """Makes one of some moments of a crowd."""
    added = Added(Moments(), Checksums(), {})
    for value in partial.column("moments"):
        added.join(pickle.loads(value.as_py()))
    return packed(key[0].as_py(), key[1].as_py(), added)


def packed(tile_group: int, part: int, added: Added) -> pa.Table:
    numbers = {"tile_group": pa.array([tile_group], pa.int32()), "part": pa.array([part], pa.int32())}
    return pa.table({**numbers, "moments": pa.array([pickle.dumps(added)], pa.binary())})
