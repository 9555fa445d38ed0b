"""Sources on their way to the tiles that need them: places and values under names of our own, with what they are there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geosmooth.spark._rows import Batch, Columns

HOME, GUEST, LABELLED = range(3)
"""What a row is in a tile, in the numbers of the core."""

TILE, TURN, ROLE = (f"__geosmooth_{name}" for name in ("tile", "turn", "role"))
"""Columns of ours among those of the user."""


def source_batch(rows: Batch, tiles: NDArray[np.int32], roles: NDArray[np.uint8], width: int) -> pa.RecordBatch:
    """Sources with their tile and their role there, in so many columns of values."""
    count = len(tiles)
    keys = pa.nulls(count, pa.string()) if rows.keys is None else rows.keys.cast(pa.string())
    columns = {TILE: pa.array(tiles), ROLE: pa.array(roles.astype(np.int8)), "key": keys}
    columns |= {f"a{k}": pa.array(axis) for k, axis in enumerate(rows.axes)}
    columns |= {f"v{k}": pa.nulls(count, pa.float64()) for k in range(width)}
    columns |= {f"v{k}": pa.array(values) for k, values in enumerate(rows.values)}
    return pa.RecordBatch.from_pydict(columns)


def split(sources: pa.Table, columns: Columns) -> list[Batch]:
    """What a tile needs, by role: rows at home, guests and labelled rows."""
    sources = sources.filter(sources.column(ROLE).is_valid())
    axes, values = tuple(f"a{k}" for k in range(len(columns.axes))), tuple(f"v{k}" for k in range(len(columns.values)))
    group = None if columns.group is None else "key"
    if sources.num_rows == 0:
        keys = None if group is None else pa.array([], pa.large_string())
        return [Batch([np.empty(0)] * len(axes), [np.empty(0)] * width, keys) for width in (len(values), len(values), 1)]
    rows, roles = Batch.of(sources, Columns(axes, values, group)), sources.column(ROLE).to_numpy()
    home, guests, labels = (rows.take(roles == role) for role in (HOME, GUEST, LABELLED))
    return [home, guests, Batch(labels.axes, labels.values[:1], labels.keys)]
