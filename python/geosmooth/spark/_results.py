"""What smoothing adds to rows: columns and their types, filled or empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Added:
    """The columns that smoothing adds."""

    predictions: Sequence[str]
    certificate: bool

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        names = []
        for prediction in self.predictions:
            names += [f"{prediction}_smoothed", *([f"{prediction}_error_bound"] if self.certificate else [])]
        return names + (["n_effective"] if self.certificate else [])

    def schema(self, frame: DataFrame) -> StructType:
        """Types of the rows with the new columns."""
        from pyspark.sql.types import DoubleType, StructField, StructType

        return StructType([*frame.schema.fields, *(StructField(name, DoubleType()) for name in self.names)])

    def to(self, rows: Any, smoothed: dict[str, Any] | None, valid: Any = None) -> Any:
        """Rows with the new columns. Where only some are valid, the others have none; without results none has."""
        for name, values in zip(self.names, self.columns(smoothed), strict=True):
            rows = rows.append_column(name, spread(values, valid, rows.num_rows))
        return rows

    def columns(self, smoothed: dict[str, Any] | None) -> list[Any]:
        if smoothed is None:
            return [None] * len(self.names)
        columns = []
        for values, bounds in zip(smoothed["values"], smoothed["bounds"], strict=True):
            columns += [values, bounds] if self.certificate else [values]
        return columns + ([smoothed["n_effective"]] if self.certificate else [])


def spread(values: Any, valid: Any, rows: int) -> pa.Array:
    """Values of the valid rows among all rows; null elsewhere."""
    if values is None:
        return pa.nulls(rows, pa.float64())
    if valid is None:
        return pa.array(values, from_pandas=True)
    everywhere = np.full(rows, np.nan)
    everywhere[valid] = values
    return pa.array(everywhere, from_pandas=True)
