"""Sources on their way to the tiles that need them: places and values under names of our own, with what they are there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geosmooth.spark._rows import Batch, Columns

TILE, TURN, LABELLED, HOME = (f"__geosmooth_{name}" for name in ("tile", "turn", "labelled", "home"))
"""Columns of ours among those of the user."""


def source_batch(
    rows: Batch, tiles: NDArray[np.int32], home: NDArray[np.bool_], labelled: bool, width: int
) -> pa.RecordBatch:
    """Sources with their tile, in so many columns of values."""
    count = len(tiles)
    keys = pa.nulls(count, pa.string()) if rows.keys is None else rows.keys.cast(pa.string())
    columns = {TILE: pa.array(tiles), LABELLED: pa.array(np.full(count, labelled)), HOME: pa.array(home), "key": keys}
    columns |= {f"a{k}": pa.array(axis) for k, axis in enumerate(rows.axes)}
    columns |= {f"v{k}": pa.nulls(count, pa.float64()) for k in range(width)}
    columns |= {f"v{k}": pa.array(values) for k, values in enumerate(rows.values)}
    return pa.RecordBatch.from_pydict(columns)


def split(sources: pa.Table, columns: Columns) -> list[Batch]:
    """Rows to predict and labelled rows among what a tile needs."""
    sources = sources.filter(sources.column(LABELLED).is_valid())
    axes, values = tuple(f"a{k}" for k in range(len(columns.axes))), tuple(f"v{k}" for k in range(len(columns.values)))
    group = None if columns.group is None else "key"
    if sources.num_rows == 0:
        keys = None if group is None else pa.array([], pa.large_string())
        return [Batch([np.empty(0)] * len(axes), [np.empty(0)] * width, keys) for width in (len(values), 1)]
    rows = Batch.of(sources, Columns(axes, values, group))
    labelled = sources.column(LABELLED).to_numpy()
    labels = rows.take(labelled)
    return [rows.take(~labelled), Batch(labels.axes, labels.values[:1], labels.keys)]

