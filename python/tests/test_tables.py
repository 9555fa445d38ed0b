"""Tables of each library, as real objects: the same bits as the command line, the same kind back, index and order kept."""

import duckdb
import geopandas
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COLUMNS, SAMPLES

import geosmooth

OPTIONS = {"sigma": "300m", "c": 0.6, "label_weight": 4, "certificate": True}
NEW = ["xgb_smoothed", "xgb_error_bound", "n_effective"]


@pytest.fixture(scope="module")
def expected(command, tmp_path_factory):
    """What the command line writes."""
    out = tmp_path_factory.mktemp("command") / "out.parquet"
    flags = {name: value for name, value in OPTIONS.items() if name != "certificate"}
    binary_flags = {"train": SAMPLES / "train.parquet", "test": SAMPLES / "test.parquet", "output": out}
    command("smooth", **binary_flags, **COLUMNS, **flags)
    return pq.read_table(out)["xgb_smoothed"].to_numpy()


def smooth(test, train, **more):
    return geosmooth.smooth(test, train, **COLUMNS, **(OPTIONS | more))


def bits(values):
    return np.asarray(values, dtype=np.float64).tobytes()


def test_pyarrow(sample, expected):
    out = smooth(sample["test"], sample["train"])
    assert isinstance(out, pa.Table)
    assert out.column_names == sample["test"].column_names + NEW
    assert out.select(sample["test"].column_names).equals(sample["test"])
    assert out.schema.metadata == sample["test"].schema.metadata
    assert bits(out["xgb_smoothed"]) == bits(expected)


def test_record_batches_and_readers(sample, expected):
    batch = sample["test"].combine_chunks().to_batches()[0]
    out = smooth(batch, sample["train"])
    assert isinstance(out, pa.RecordBatch) and bits(out["xgb_smoothed"]) == bits(expected)
    out = smooth(sample["test"].to_reader(max_chunksize=1000), sample["train"].to_reader())
    assert isinstance(out, pa.RecordBatchReader) and bits(out.read_all()["xgb_smoothed"]) == bits(expected)


@pytest.mark.parametrize("backend", ["numpy", "pyarrow"])
def test_pandas(sample, expected, backend):
    mapper = {"types_mapper": pd.ArrowDtype} if backend == "pyarrow" else {}
    test, train = (sample[name].to_pandas(**mapper) for name in ("test", "train"))
    test.index = pd.Index(np.arange(len(test))[::-1] * 7, name="house")
    before = test.copy()
    out = smooth(test, train)
    assert type(out) is pd.DataFrame
    assert list(out.columns) == list(test.columns) + NEW
    pd.testing.assert_index_equal(out.index, test.index)
    pd.testing.assert_frame_equal(test, before)
    assert bits(out["xgb_smoothed"]) == bits(expected)


def test_pandas_with_columns_that_arrow_cannot_hold(sample, expected):
    test = sample["test"].to_pandas().assign(odd=[object(), 3] * (len(expected) // 2))
    out = smooth(test, sample["train"].to_pandas())
    assert bits(out["xgb_smoothed"]) == bits(expected)
    assert out["odd"].tolist() == test["odd"].tolist()
    with pytest.raises(ValueError, match="column 'odd'"):
        geosmooth.smooth(test, prediction="odd", sigma="1m", c=1)


def test_polars(sample, expected):
    test, train = pl.from_arrow(sample["test"]), pl.from_arrow(sample["train"])
    out = smooth(test, train)
    assert isinstance(out, pl.DataFrame)
    assert out.drop(NEW).equals(test)
    assert bits(out["xgb_smoothed"]) == bits(expected)
    chunked = pl.concat([test[:100], test[100:]], rechunk=False)
    assert bits(smooth(chunked, train)["xgb_smoothed"]) == bits(expected)
    lazy = smooth(test.lazy(), train.lazy())
    assert isinstance(lazy, pl.LazyFrame) and bits(lazy.collect()["xgb_smoothed"]) == bits(expected)


def test_duckdb(sample, expected):
    test, train = sample["test"], sample["train"]
    out = smooth(duckdb.sql("select * from test"), duckdb.sql("select * from train"))
    assert isinstance(out, duckdb.DuckDBPyRelation)
    assert out.columns == test.column_names + NEW
    assert bits([row[0] for row in out.select("xgb_smoothed").fetchall()]) == bits(expected)


def test_geopandas(sample, command, tmp_path):
    test = geopandas.read_parquet(SAMPLES / "test_geo.parquet")
    train = sample["train"].to_pandas()
    places = geopandas.points_from_xy(train.longitude, train.latitude, crs="EPSG:4326")
    train = geopandas.GeoDataFrame(train[["log_price"]], geometry=places)
    test.index = test.index[::-1]
    out = smooth(test, train)
    assert type(out) is geopandas.GeoDataFrame and out.crs == test.crs
    assert out.geometry.equals(test.geometry) and out.index.equals(test.index)
    files = {"test": tmp_path / "test.parquet", "train": tmp_path / "train.parquet", "output": tmp_path / "out.parquet"}
    test.to_parquet(files["test"]), train.to_parquet(files["train"])
    command("smooth", **files, **COLUMNS, sigma="300m", c=0.6, label_weight=4)
    assert bits(out["xgb_smoothed"]) == bits(pq.read_table(files["output"])["xgb_smoothed"])


def test_geopandas_in_another_crs_is_refused(sample):
    test = geopandas.read_parquet(SAMPLES / "test_geo.parquet").to_crs("EPSG:3857")
    with pytest.raises(ValueError, match="reference system EPSG:3857.*\n.*convert the points"):
        geosmooth.smooth(test, prediction="xgb", sigma="300m", c=1)


def test_paths(expected, tmp_path):
    out = tmp_path / "out.parquet"
    assert smooth(SAMPLES / "test.parquet", str(SAMPLES / "train.parquet"), output=out) == out
    assert bits(pq.read_table(out)["xgb_smoothed"]) == bits(expected)
    with pytest.raises(ValueError, match="exists already"):
        smooth(SAMPLES / "test.parquet", SAMPLES / "train.parquet", output=out)
    with pytest.raises(ValueError, match="output is missing"):
        smooth(SAMPLES / "test.parquet", SAMPLES / "train.parquet")


def test_kinds_mix(sample, expected):
    out = smooth(pl.from_arrow(sample["test"]), SAMPLES / "train.parquet")
    assert isinstance(out, pl.DataFrame) and bits(out["xgb_smoothed"]) == bits(expected)


class Capsule:
    """A table of a library that nobody has heard of."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_anything_with_a_capsule(sample, expected):
    out = smooth(Capsule(sample["test"]), Capsule(sample["train"]))
    assert bits(out["xgb_smoothed"]) == bits(expected)


def test_what_is_no_table_is_refused():
    for table in (3, [1, 2], {"latitude": [1.0]}, np.zeros((3, 2))):
        with pytest.raises(TypeError, match="neither a path nor a table"):
            geosmooth.smooth(table, prediction="xgb", sigma="1m", c=1)


def test_skipped_rows_have_no_value(sample):
    holes = sample["test"].to_pandas()
    holes.loc[[3, 5], "xgb"] = [np.nan, np.inf]
    options = {"prediction": "xgb", "sigma": "300m", "c": 1, "on_invalid": "skip"}
    frame = geosmooth.smooth(holes, **options)
    assert frame.index[frame["xgb_smoothed"].isna()].tolist() == [3, 5]
    assert geosmooth.smooth(pl.from_pandas(holes), **options)["xgb_smoothed"].null_count() == 2
    assert geosmooth.smooth(pa.Table.from_pandas(holes), **options)["xgb_smoothed"].null_count == 2
    with pytest.raises(ValueError, match="row 3 .2 such rows in all."):
        geosmooth.smooth(holes, prediction="xgb", sigma="300m", c=1)


def test_no_rows():
    empty = pd.DataFrame({"lat": [], "lon": [], "xgb": []}, dtype=float)
    out = geosmooth.smooth(empty, prediction="xgb", sigma="300m", c=1)
    assert len(out) == 0 and "xgb_smoothed" in out
