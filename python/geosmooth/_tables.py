"""Tables of several libraries: into Arrow without copying where that is possible, and results back in the same kind."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[np.float64]]


def is_instance(table: Any, library: str, *names: str) -> bool:
    """Whether a table is of one of these classes, without importing a library that is not in use."""
    module = sys.modules.get(library)
    return any(isinstance(table, getattr(module, name)) for name in names if hasattr(module, name))


def settled(table: Any) -> Any:
    """The same table, computed once where looking at it twice would compute it twice or differ."""
    if is_instance(table, "polars", "LazyFrame"):
        return table.collect()
    if is_instance(table, "duckdb", "DuckDBPyRelation"):
        return table.to_arrow_table()
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all()
    return table


def as_arrow(table: Any) -> Any:
    """An object whose rows Arrow's capsule interface hands over."""
    if is_instance(table, "pandas", "DataFrame"):
        return pandas_to_arrow(table)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return table
    raise TypeError(
        f"{type(table).__name__} is neither a path nor a table: give a DataFrame of pandas, polars or GeoPandas, "
        "a table of pyarrow, a relation of DuckDB, or anything else with __arrow_c_stream__"
    )


def pandas_to_arrow(frame: Any) -> pa.Table:
    """The columns of a frame, numbers without copying. What Arrow cannot hold is kept by name only: it takes no part."""
    columns = [column_to_arrow(frame.iloc[:, position]) for position in range(frame.shape[1])]
    fields = [field.with_name(str(name)) for name, (field, _) in zip(frame.columns, columns, strict=True)]
    return pa.Table.from_arrays([array for _, array in columns], schema=pa.schema(fields))


def column_to_arrow(series: Any) -> tuple[pa.Field, Any]:
    if str(series.dtype) == "geometry":
        points = pa.table(series.to_frame().to_arrow(index=False, geometry_encoding="WKB"))
        return points.field(0), points.column(0)
    try:
        array = pa.array(series, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        array = pa.nulls(len(series))
    return pa.field("", array.type), array


def with_columns(given: Any, table: Any, columns: Columns) -> Any:
    """The table with new columns, as the kind that was given. Where a row took no part its value is missing."""
    if is_instance(table, "pandas", "DataFrame"):
        return table.assign(**columns)
    if is_instance(table, "polars", "DataFrame"):
        import polars as pl

        added = table.with_columns(pl.Series(name, values, nan_to_null=True) for name, values in columns.items())
        return added.lazy() if is_instance(given, "polars", "LazyFrame") else added
    result = table if isinstance(table, pa.Table) else pa.table(table)
    for name, values in columns.items():
        result = result.append_column(name, pa.array(values, from_pandas=True))
    if is_instance(given, "duckdb", "DuckDBPyRelation"):
        import duckdb

        return duckdb.from_arrow(result)
    if isinstance(given, pa.RecordBatch):
        return result.combine_chunks().to_batches()[0] if len(result) else pa.RecordBatch.from_pylist([], result.schema)
    return result.to_reader() if isinstance(given, pa.RecordBatchReader) else result
