"""Smoothing of Spark's DataFrames: more rows than one machine holds, with the same bound on the numerical error of every row.

>>> import geosmooth.spark
>>> smoothed = geosmooth.spark.smooth(test, train, label="price", prediction="model", sigma="500m", c=0.6)  # doctest: +SKIP

Rows are counted, space is cut into tiles that fit a task, and each tile is smoothed with all rows that reach it; where σ is
so wide that everything reaches everything, moments are summed up instead and no row is moved. The driver sees counts,
ranges and moments, never rows. Workers need nothing but this package.
"""

try:
    import pyspark  # noqa: F401
except ImportError as missing:
    raise ImportError("geosmooth.spark needs pyspark 4 or newer\nhint: pip install 'geosmooth[spark]'") from missing

from geosmooth.spark._smooth import smooth
from geosmooth.spark._tune import Tuning, tune

__all__ = ["Tuning", "smooth", "tune"]
