"""What one call asks for, checked on the driver before anything runs: the same request is made on tables without rows, so that
every error is that of the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geosmooth import _core
from geosmooth._request import Request
from geosmooth.spark._count import Role
from geosmooth.spark._rows import Columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Places:
    """The columns that hold places, as far as the user said."""

    lat: str | None = None
    lon: str | None = None
    index: tuple[str, ...] = ()
    group: str | None = None

    def columns(self, frame: DataFrame, values: Sequence[str]) -> Columns:
        """Where places are in a frame, and values."""
        return Columns(self.axes(frame), tuple(values), self.group, index=bool(self.index))

    def axes(self, frame: DataFrame) -> tuple[str, ...]:
        if self.index:
            return self.index
        if self.lat is not None and self.lon is not None:
            return self.lat, self.lon
        found = _core.lat_lon_names(frame.columns)
        assert found is not None, "the request was refused otherwise"
        return found


@dataclass(frozen=True)
class Problem:
    """Rows to predict and labelled rows, with the columns that matter."""

    test: DataFrame
    train: DataFrame | None
    predictions: tuple[str, ...]
    label: str | None
    places: Places
    name: str = "<test>"
    """What the rows to predict are called."""
    truth: str | None = None
    """The column with the truth of the rows to predict, if they must have one: it scores, and is no source."""

    @property
    def role(self) -> Role:
        """The rows to predict."""
        columns = self.places.columns(self.test, self.predictions)
        return Role(self.name, replace(columns, truth=self.truth), labelled=False)

    @property
    def alone(self) -> Problem:
        """The same without labelled rows."""
        return replace(self, train=None)

    @property
    def labelled(self) -> tuple[DataFrame, Role] | None:
        """The labelled rows, with nothing but the columns that matter."""
        if self.train is None or self.label is None:
            return None
        role = Role("<train>", self.places.columns(self.train, [self.label]), labelled=True)
        return chosen(self.train, role.columns.names), role

    @property
    def frames(self) -> list[tuple[DataFrame, Role]]:
        """All rows, with nothing but the columns that matter."""
        test = (chosen(self.test, self.role.columns.names), self.role)
        return [test] if self.labelled is None else [test, self.labelled]

    def with_plain_names(self) -> Problem:
        """The same with names that Spark takes."""
        test = with_plain_names(self.name.strip("<>"), self.test, self.role.columns.names)
        if self.train is not None and self.label is not None:
            with_plain_names("train", self.train, self.places.columns(self.train, [self.label]).names)
        return replace(self, test=test)

    @property
    def dimensions(self) -> int:
        """Axes of a place."""
        return len(self.role.columns.axes)


def chosen(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Some columns of a frame, whatever their names look like."""
    return frame.select(*(column(name) for name in names))


def column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col(f"`{name}`")


def is_odd(name: str) -> bool:
    """Whether Spark's functions on batches stumble over a name."""
    return "." in name or "`" in name


def with_plain_names(name: str, frame: DataFrame, used: Sequence[str]) -> DataFrame:
    """A frame whose odd names are put aside; columns that take part must have none."""
    for odd in filter(is_odd, used):
        raise ValueError(f"<{name}>: column '{odd}' has a dot or a tick in its name, which Spark does not take here\nhint: rename it")
    if not any(map(is_odd, frame.columns)):
        return frame
    return frame.toDF(*(f"__geosmooth_{k}" if is_odd(name) else name for k, name in enumerate(frame.columns)))


def refused(given: dict[str, Any], frames: dict[str, DataFrame | None]) -> dict[str, Any]:
    """Makes the request on tables without rows: raises what the command line would, and gives what it understood. The first table has the
    rows to predict, whatever it is called."""
    tables = {name: None if frame is None else without_rows(name, frame) for name, frame in frames.items()}
    name, train = list(tables)
    request = Request({**given, "test": tables[name], "train": tables[train], "progress": False}, ["test", "train"])
    try:
        understood: dict[str, Any] = request.run(_core.smooth)["summary"]
    except (TypeError, ValueError) as wrong:
        # The core knows these rows by the name of its own argument.
        raise type(wrong)(str(wrong).replace("<test>", f"<{name}>")) from None
    return understood


def without_rows(name: str, frame: Any) -> pa.Table:
    """A table with the columns of a frame."""
    from pyspark.errors import PySparkNotImplementedError

    if not hasattr(frame, "mapInArrow") or not hasattr(frame, "sparkSession"):
        raise TypeError(f"{name} is {type(frame).__name__}, not a DataFrame of Spark: for other tables there is geosmooth.{{smooth,tune}}")
    repeated = sorted({column for column in frame.columns if frame.columns.count(column) > 1})
    if repeated:
        raise ValueError(f"<{name}>: column '{repeated[0]}' is there twice\nhint: give columns names of their own")
    try:
        return frame.limit(0).toArrow()
    except PySparkNotImplementedError as unknown:
        raise TypeError(f"<{name}>: a column has a type that Arrow does not know\nhint: {unknown}") from unknown


def parameters(params: Any, no_correct: bool) -> dict[str, Any]:
    """What `tune` found, as a dictionary; nothing if it is left out."""
    if params is None:
        return {}
    if isinstance(params, (str, os.PathLike)):
        params = json.loads(Path(params).read_text(encoding="utf-8"))
    found: dict[str, Any] = dict(getattr(params, "parameters", params))
    if found.get("correct") and not no_correct:
        raise ValueError(
            "the parameters ask for the correct step, which is not there on Spark\n"
            "hint: tune without train_prediction, or leave the step out with no_correct=True"
        )
    return found


def places(
    found: dict[str, Any], frame: DataFrame, lat: str | None, lon: str | None, index: Any, group: str | None
) -> Places:
    """Where places are: as said here, otherwise as in tuned parameters."""
    before = found.get("places", {})
    group = group or before.get("group")
    if lat is None and index is None:
        lat, lon, index = before.get("lat"), before.get("lon"), before.get("index")
    return Places(lat, lon, listed(index, frame.columns), group)


def listed(names: Any, known: Sequence[str]) -> tuple[str, ...]:
    """One name, a list with commas or a sequence as several names; a name that itself holds a comma is taken as it is if it is known."""
    if names is None:
        return ()
    given = (names,) if isinstance(names, str) else names
    return tuple(part for name in given for part in ([name] if name in known else str(name).split(",")))
