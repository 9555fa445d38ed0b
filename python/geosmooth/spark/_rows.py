"""Rows of Arrow batches as the core takes them: coordinates, groups and values as arrays, and which rows are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geosmooth import _core
from geosmooth._core import THE_SAME_EACH_TIME

if TYPE_CHECKING:
    from geosmooth._core import Rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Which columns of a frame hold what: places, values that must be finite, and perhaps groups."""

    axes: tuple[str, ...]
    values: tuple[str, ...]
    group: str | None
    truth: str | None = None
    """A column that must be finite too, but is no source."""
    index: bool = False
    """Whether places are index columns rather than degrees."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those that must be finite."""
        return (*self.axes, *self.values, *([self.truth] if self.truth is not None else []))

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([*self.numbers, *([self.group] if self.group is not None else [])]))


@dataclass(frozen=True)
class Batch:
    """The rows of a batch or a table. Rows that are not valid have NaN or an infinity somewhere."""

    axes: list[Floats]
    values: list[Floats]
    keys: Any
    """The group of each row as text, or `None` if there are no groups."""
    truth: Floats | None = None

    @classmethod
    def of(cls, batch: Any, columns: Columns) -> Batch:
        """The columns of a batch, as numbers and text."""
        keys = None if columns.group is None else text(batch.column(columns.group))
        axes = [axis(name, batch.column(name)) if columns.index else numbers(batch.column(name)) for name in columns.axes]
        values = [numbers(batch.column(name)) for name in columns.values]
        return cls(axes, values, keys, None if columns.truth is None else numbers(batch.column(columns.truth)))

    @property
    def numbers(self) -> list[Floats]:
        """The columns that must be finite."""
        return [*self.axes, *self.values, *([self.truth] if self.truth is not None else [])]

    def valid(self) -> NDArray[np.bool_]:
        """Whether each row has a place and finite values."""
        finite: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(column) for column in self.numbers])
        return finite

    def take(self, rows: NDArray[Any]) -> Batch:
        """Some of the rows: their numbers, or a mask."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        keys = None if self.keys is None else self.keys.take(pa.array(rows))
        truth = None if self.truth is None else self.truth[rows]
        return Batch([column[rows] for column in self.axes], [column[rows] for column in self.values], keys, truth)

    def rows(self, groups: NDArray[np.uint32] | None) -> Rows:
        """As the core takes them, with these numbers for groups."""
        return {"axes": self.axes, "groups": groups, "keys": self.hashes(), "values": self.values}

    def known(self) -> Floats:
        """The truth of rows that must have one."""
        assert self.truth is not None
        return self.truth

    def with_truth(self) -> Rows:
        """With the truth among the values: what scores are made of."""
        return {**self.rows(None), "values": [*self.values, self.known()]}

    def hashes(self) -> NDArray[np.uint64] | None:
        """A hash of each row's group that is the same on every machine."""
        if self.keys is None:
            return None
        coded = pc.dictionary_encode(self.keys)
        hashes = np.array([hashed(key.as_py()) for key in coded.dictionary], dtype=np.uint64)
        found: NDArray[np.uint64] = hashes[coded.indices.to_numpy(zero_copy_only=False)]
        return found

    def hashed(self) -> Rows:
        """As the core takes them, groups by a part of their hashes: good for counting, where those that share a number are only thought to touch."""
        rows = self.rows(None)
        keys = rows["keys"]
        return rows if keys is None else {**rows, "groups": keys.astype(np.uint32)}

    def listed(self, groups: Sequence[str]) -> Rows:
        """As the core takes them, groups by their places in a list of all."""
        if self.keys is None:
            return self.rows(None)
        codes = pc.index_in(self.keys, value_set=pa.array(groups, pa.large_string()))
        if codes.null_count:
            raise ValueError(UNCOUNTED_GROUP)
        return self.rows(codes.to_numpy(zero_copy_only=False).astype(np.uint32))


UNCOUNTED_GROUP = f"a row has a group that none had when rows were counted\nhint: {THE_SAME_EACH_TIME}"


def numbered(batches: Sequence[Batch]) -> list[Rows]:
    """Rows of several batches as the core takes them, with a number for each group that means the same in all and never two groups."""
    if any(batch.keys is None for batch in batches):
        return [batch.rows(None) for batch in batches]
    keys = pa.chunked_array([batch.keys for batch in batches], pa.large_string()).combine_chunks()
    codes = pc.dictionary_encode(keys).indices.to_numpy(zero_copy_only=False).astype(np.uint32)
    ends = np.cumsum([len(batch.keys) for batch in batches])
    return [batch.rows(part) for batch, part in zip(batches, np.split(codes, ends[:-1]), strict=True)]


def hashed(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def numbers(column: Any) -> Floats:
    """A column as floats; what is null is NaN."""
    floats: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(floats)


def axis(name: str, column: Any) -> Floats:
    """An index column as floats. What floats do not hold is an error: places that differ would fall together."""
    return _core.axis(name, whole(column))


def text(column: Any) -> Any:
    """A column as text: groups of one type are equal if their values are, those of two types if they read the same."""
    return pc.cast(pa.array(_core.group_keys(whole(column))), pa.large_string())


def whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
