"""Crowds: more rows are within reach of one place than a task holds. They are dealt out among the tiles of their crowd, each tile adds up the moments of its
rows, and the field that these make together goes to all tiles of the crowd, which read their rows' results off it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth._core import Moments, Partition
from geosmooth.spark._rows import Batch, Columns
from geosmooth.spark._sources import HOME, LABELLED, TILE, split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIELD = "__geosmooth_field"
"""The column with the field of a crowd."""

FAN = 4
"""Moments that are joined at a time: each takes a quarter of a tile's memory at most, and a message of Arrow two gigabytes."""

SCHEMA = "crowd int, part int, moments binary"


@dataclass(frozen=True)
class Crowds:
    """The crowds of a partition, for rows in these columns."""

    partition: Partition
    columns: Columns
    groups: list[str]

    def of(self, tile: int) -> int | None:
        """The crowd of a tile, if it is in one."""
        return next((crowd for crowd, (first, end) in enumerate(self.partition.crowds) if first <= tile < end), None)

    def fields(self, members: DataFrame) -> DataFrame:
        """The field of its crowd for each tile, from all rows that are in one."""
        from pyspark.sql import functions

        moments = members.groupBy(TILE).applyInArrow(self.adder(), SCHEMA)
        left = max(end - first for first, end in self.partition.crowds)
        while left > 1:
            left = ceil(left / FAN)
            fewer = moments.withColumn("part", functions.expr(f"part div {FAN}").cast("int"))
            moments = fewer.groupBy("crowd", "part").applyInArrow(joined, SCHEMA)
        fields = moments.mapInArrow(self.finisher(), f"first int, last int, {FIELD} binary")
        tiles = functions.explode(functions.sequence("first", "last")).alias(TILE)
        return fields.select(tiles, FIELD)

    def adder(self) -> Any:
        """Makes moments of the rows of a tile."""

        def work(key: tuple[Any, ...], members: pa.Table) -> pa.Table:
            tile = key[0].as_py()
            crowd = self.of(tile)
            assert crowd is not None
            blueprint, moments = self.partition.blueprint(crowd), Moments()
            rows, labelled = split(members, self.columns)
            home = members.column(HOME).to_numpy()[~members.column(LABELLED).to_numpy()]
            moments.add(blueprint, rows.take(home).listed(self.groups), False)
            moments.add_guests(blueprint, rows.take(~home).listed(self.groups))
            moments.add(blueprint, labelled.listed(self.groups), True)
            return packed(crowd, tile - self.partition.crowds[crowd][0], moments)

        return work

    def finisher(self) -> Any:
        """Makes the field of a crowd of its moments, with the first and the last of its tiles."""

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    first, end = self.partition.crowds[row["crowd"]]
                    field = pickle.loads(row["moments"]).field(self.partition.blueprint(row["crowd"]))
                    found = {"first": pa.array([first], pa.int32()), "last": pa.array([end - 1], pa.int32())}
                    yield pa.RecordBatch.from_pydict({**found, FIELD: pa.array([pickle.dumps(field)], pa.binary())})

        return work

    def smoothed(self, crowd: int, home: pa.Table, field: bytes, c: float) -> Any:
        """The results of rows that are at home in a tile of a crowd."""
        rows = Batch.of(home, self.columns).listed(self.groups)
        return pickle.loads(field).smooth(self.partition.blueprint(crowd), c, rows)


def joined(key: tuple[Any, ...], partial: pa.Table) -> pa.Table:
    """Makes one of some moments of a crowd."""
    moments = Moments()
    for value in partial.column("moments"):
        moments.join(pickle.loads(value.as_py()))
    return packed(key[0].as_py(), key[1].as_py(), moments)


def packed(crowd: int, part: int, moments: Moments) -> pa.Table:
    numbers = {"crowd": pa.array([crowd], pa.int32()), "part": pa.array([part], pa.int32())}
    return pa.table({**numbers, "moments": pa.array([pickle.dumps(moments)], pa.binary())})
