"""Joining what tasks have to tell, in a tree: many partial results become a few, a few become one, and one reaches the driver."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


USUAL_TASKS = 200
"""Tasks after a shuffle unless the user says otherwise, as in Spark itself."""


def tasks(spark: SparkSession) -> int:
    """Tasks that the user thinks right after a shuffle; as many as Spark does where it is not a number, such as `auto` on Databricks."""
    wanted = str(spark.conf.get("spark.sql.shuffle.partitions", None))
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else USUAL_TASKS


def fewer(partial: DataFrame, joiner: Any, schema: str) -> DataFrame:
    """Values that `joiner` makes of a frame of binary values, some at a time, in one partition."""
    fan = ceil(sqrt(tasks(partial.sparkSession)))
    return partial.repartition(fan).mapInArrow(joiner, schema).repartition(1)


def joined(partial: DataFrame, joiner: Any, schema: str) -> bytes:
    """The one value that `joiner` makes of a frame of binary values, some at a time, then the rest."""
    (row,) = fewer(partial, joiner, schema).mapInArrow(joiner, schema).collect()
    return bytes(row[0])
