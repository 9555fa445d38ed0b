"""Columns that geosmooth only copies are unchanged, whichever program reads the output.

The comparison is always with what the same program reads from the input: Parquet itself, not geosmooth, may turn
seconds into milliseconds.
"""

import datetime as dt
import decimal

import duckdb
import geopandas
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sample import test_rows
from test_reading import geo_frame

ROWS = 12
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)


def repeated(some, kind=None):
    """These values and a null, repeated until there are enough."""
    return pa.array([[*some, None][i % (len(some) + 1)] for i in range(ROWS)], kind)


def extension(kind, storage):
    return pa.ExtensionArray.from_storage(kind, storage)


FLOAT_BITS = np.array([0x8000000000000000, 0x7FF8000000000001, 0xFFF0000000000000, 1, 0x7FEFFFFFFFFFFFFF], np.uint64)
LEVELS = ["low", "middle", "high"]

COLUMNS = {
    "bool": repeated([True, False]),
    "int8": repeated([-128, 127], pa.int8()),
    "uint64": repeated([0, 2**64 - 1], pa.uint64()),
    "float16": repeated([1.5, -0.0], pa.float16()),
    "float32": repeated([1.5, float("inf")], pa.float32()),
    "string": repeated(["", "Straße", "東京"]),
    "large_string": repeated(["a", "b" * 1000], pa.large_string()),
    "string_view": repeated(["short", "longer than twelve bytes"], pa.string_view()),
    "binary": repeated([b"", b"\x00\xff"], pa.binary()),
    "large_binary": repeated([b"\x00", b"\xff"], pa.large_binary()),
    "binary_view": repeated([b"\x00", b"\xff" * 20], pa.binary_view()),
    "fixed_size_binary": repeated([b"abc", b"\x00\x01\x02"], pa.binary(3)),
    "decimal32": repeated([decimal.Decimal("-12.34")], pa.decimal32(7, 2)),
    "decimal64": repeated([decimal.Decimal("-12.34")], pa.decimal64(15, 2)),
    "decimal128": repeated([decimal.Decimal("-1234567890123456789.01")], pa.decimal128(38, 2)),
    "decimal256": repeated([decimal.Decimal(7) * 10**60], pa.decimal256(76, 0)),
    "date32": repeated([dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "date64": repeated([86_400_000, 0], pa.date64()),
    "time32 s": repeated([dt.time(23, 59, 59)], pa.time32("s")),
    "time32 ms": repeated([dt.time(23, 59, 59)], pa.time32("ms")),
    "time64 us": repeated([dt.time(23, 59, 59, 999999)], pa.time64("us")),
    "time64 ns": repeated([1, 86_399_999_999_999], pa.time64("ns")),
    "timestamp s": repeated([NOON.replace(microsecond=0)], pa.timestamp("s")),
    "timestamp ms": repeated([0, -1], pa.timestamp("ms")),
    "timestamp us": repeated([NOON], pa.timestamp("us")),
    "timestamp ns": repeated([1, 2**62], pa.timestamp("ns")),
    "timestamp s with zone": repeated([0, 2**31], pa.timestamp("s", "UTC")),
    "timestamp us with zone": repeated([NOON], pa.timestamp("us", "Europe/Paris")),
    "timestamp ns with offset": repeated([1, 2**62], pa.timestamp("ns", "+05:30")),
    "duration": repeated([1, -(2**40)], pa.duration("us")),
    "null": pa.nulls(ROWS),
    "list": repeated([[1, None, 3], []], pa.list_(pa.int32())),
    "large_list": repeated([[1.5], []], pa.large_list(pa.float64())),
    "list_view": repeated([[1, 2], []], pa.list_view(pa.int64())),
    "fixed_size_list": repeated([[1, 2], [3, None]], pa.list_(pa.int16(), 2)),
    "list of lists": repeated([[["a"], None, []], []], pa.list_(pa.list_(pa.string()))),
    "struct": repeated([{"a": 1, "b": None}, {"a": None, "b": "x"}]),
    "list of structs": repeated([[{"a": [1, 2]}, None], []], pa.list_(pa.struct([("a", pa.list_(pa.int8()))]))),
    "struct of maps": repeated([{"m": [("k", [1])]}], pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.int32())))])),
    "map": repeated([[("a", 1), ("b", None)], []], pa.map_(pa.string(), pa.int64())),
    "dictionary": repeated(["red", "green"]).dictionary_encode(),
    "dictionary of numbers": repeated([2.5, 3.5]).dictionary_encode(),
    "ordered dictionary": pa.DictionaryArray.from_arrays(repeated([2, 0], pa.int8()), pa.array(LEVELS), ordered=True),
    "list of dictionaries": pa.ListArray.from_arrays(np.arange(ROWS + 1), repeated(["x", "y"]).dictionary_encode()),
    "uuid": repeated([bytes(range(16))], pa.uuid()),
    "json": repeated(['{"a": 1}', "[]"], pa.json_()),
    "bool8": extension(pa.bool8(), repeated([1, 0], pa.int8())),
    "tensor": extension(pa.fixed_shape_tensor(pa.float32(), [2]), repeated([[1, 2]], pa.list_(pa.float32(), 2))),
    "column name with spaces, dots. and ünïcode": repeated([1]),
}


def carrying(name, values, **field):
    """The first rows to predict, with an additional first column."""
    return test_rows(len(values)).add_column(0, pa.field(name, values.type, **field), values)


def through(smooth, tmp_path, table, **writing):
    """Writes the table, smooths it, and returns the input and the output without the new column, as pyarrow reads them."""
    pq.write_table(table, tmp_path / "test.parquet", **writing)
    out = pq.read_table(smooth(tmp_path / "test.parquet"))
    assert out.column_names[-1] == "xgb_smoothed"
    return pq.read_table(tmp_path / "test.parquet"), out.drop_columns(["xgb_smoothed"])


def assert_same(before, after):
    assert after.schema.equals(before.schema, check_metadata=True), f"{before.schema}\n\nbecame\n\n{after.schema}"
    assert (after.schema.metadata or {}) == (before.schema.metadata or {})
    assert after.to_pylist() == before.to_pylist()


# --- pyarrow ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COLUMNS)
def test_column_types(smooth, tmp_path, name):
    assert_same(*through(smooth, tmp_path, carrying(name, COLUMNS[name])))


@pytest.mark.parametrize("name", COLUMNS)
def test_column_types_without_an_embedded_arrow_schema(smooth, tmp_path, name):
    assert_same(*through(smooth, tmp_path, carrying(name, COLUMNS[name]), store_schema=False))


@pytest.mark.parametrize("stored", [True, False])
def test_int96_timestamps(smooth, tmp_path, stored):
    table = carrying("when", repeated([NOON], pa.timestamp("ns")))
    assert_same(*through(smooth, tmp_path, table, use_deprecated_int96_timestamps=True, store_schema=stored))


ENCODINGS = [
    ("bool", "RLE"),
    ("int8", "DELTA_BINARY_PACKED"),
    ("uint64", "DELTA_BINARY_PACKED"),
    ("float16", "BYTE_STREAM_SPLIT"),
    ("string", "DELTA_LENGTH_BYTE_ARRAY"),
    ("string", "DELTA_BYTE_ARRAY"),
    ("binary", "DELTA_BYTE_ARRAY"),
    ("fixed_size_binary", "DELTA_BYTE_ARRAY"),
    ("fixed_size_binary", "BYTE_STREAM_SPLIT"),
    ("decimal128", "BYTE_STREAM_SPLIT"),
]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
def test_encodings(smooth, tmp_path, name, encoding, version):
    encode = {"use_dictionary": False, "column_encoding": {name: encoding}, "data_page_version": version}
    before, after = through(smooth, tmp_path, carrying(name, COLUMNS[name]), **encode)
    assert encoding in pq.read_metadata(tmp_path / "test.parquet").row_group(0).column(0).encodings
    assert_same(before, after)


def test_bits_of_floats(smooth, tmp_path):
    before, after = through(smooth, tmp_path, carrying("odd", pa.array(FLOAT_BITS.view(np.float64))))
    assert (after["odd"].to_numpy().view(np.uint64) == FLOAT_BITS).all()


def test_required_columns_stay_required(smooth, tmp_path):
    table = carrying("sure", pa.array(range(ROWS)), nullable=False)
    before, after = through(smooth, tmp_path, table)
    assert not after.schema.field("sure").nullable
    assert_same(before, after)


def test_metadata_of_fields_and_file(smooth, tmp_path):
    child = pa.field("cents", pa.int64(), metadata={"unit": "ct"})
    values = repeated([{"cents": 5}], pa.struct([child]))
    table = carrying("cost", values, metadata={"unit": "EUR", "ä": "ö"})
    table = table.replace_schema_metadata({"source": "land registry", "geosmooth": "not ours"})
    before, after = through(smooth, tmp_path, table)
    assert after.schema.metadata[b"source"] == b"land registry"
    assert after.schema.field("cost").metadata == {b"unit": b"EUR", "ä".encode(): "ö".encode()}
    assert after.schema.field("cost").type.field("cents").metadata == {b"unit": b"ct"}
    assert_same(before, after)


def test_field_ids(smooth, tmp_path):
    table = carrying("known", repeated([1]), metadata={"PARQUET:field_id": "17"})
    assert_same(*through(smooth, tmp_path, table))


def everything(n):
    """Columns of all types in one table of n rows, except one that pyarrow cannot read from several row groups."""
    wide = pa.table(COLUMNS).drop_columns(["list of dictionaries"])
    wide = pa.concat_tables([wide] * (n // ROWS + 1)).slice(0, n)
    for name, values in zip(test_rows().column_names, test_rows(n).columns):
        wide = wide.append_column(name, values)
    return wide


def test_several_row_groups(smooth, tmp_path):
    assert_same(*through(smooth, tmp_path, everything(1000), row_group_size=77))


def test_an_empty_row_group(smooth, tmp_path):
    table = everything(30)
    with pq.ParquetWriter(tmp_path / "test.parquet", table.schema) as writer:
        for rows in (table.slice(0, 0), table.slice(0, 20), table.slice(0, 0), table.slice(20)):
            writer.write_table(rows)
    assert pq.ParquetFile(tmp_path / "test.parquet").num_row_groups == 4
    out = pq.read_table(smooth(tmp_path / "test.parquet"))
    assert out["xgb_smoothed"].null_count == 0
    assert_same(pq.read_table(tmp_path / "test.parquet"), out.drop_columns(["xgb_smoothed"]))


@pytest.mark.parametrize("row_groups", [0, 1])
def test_zero_rows(smooth, tmp_path, row_groups):
    table = everything(0)
    with pq.ParquetWriter(tmp_path / "test.parquet", table.schema) as writer:
        for _ in range(row_groups):
            writer.write_table(table)
    out = pq.read_table(smooth(tmp_path / "test.parquet"))
    assert out.schema.field("xgb_smoothed").type == pa.float64()
    assert out.schema.field("xgb_smoothed").nullable
    assert_same(pq.read_table(tmp_path / "test.parquet"), out.drop_columns(["xgb_smoothed"]))


def test_several_files(smooth, tmp_path):
    table = everything(60)
    (tmp_path / "test").mkdir()
    for number in range(3):
        pq.write_table(table.slice(20 * number, 20), tmp_path / "test" / f"{number}.parquet")
    out = pq.read_table(smooth(tmp_path / "test"))
    whole = pa.concat_tables(pq.read_table(tmp_path / "test" / f"{number}.parquet") for number in range(3))
    assert_same(whole, out.drop_columns(["xgb_smoothed"]))


# --- pandas, GeoPandas, polars, DuckDB --------------------------------------------------------------------------


def test_pandas_reads_its_own_frame_back(smooth, tmp_path):
    frame = test_rows(ROWS).to_pandas()
    frame["grade"] = pandas.Categorical(LEVELS * 4, categories=LEVELS, ordered=True)
    frame["sold"] = pandas.date_range("2024-03-30", periods=ROWS, freq="3h", tz="Europe/Paris")
    frame.index = pandas.Index([f"house {i}" for i in range(ROWS)], name="house")
    frame.to_parquet(tmp_path / "test.parquet")
    out = pandas.read_parquet(smooth(tmp_path / "test.parquet"))
    pandas.testing.assert_frame_equal(out.drop(columns="xgb_smoothed"), pandas.read_parquet(tmp_path / "test.parquet"))


@pytest.mark.parametrize("crs", ["EPSG:4326", "OGC:CRS84"])
@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_geopandas_reads_its_own_frame_back(smooth, tmp_path, encoding, crs):
    geo_frame(test_rows(), crs).to_parquet(tmp_path / "test.parquet", geometry_encoding=encoding)
    path = smooth(tmp_path / "test.parquet")
    before, after = geopandas.read_parquet(tmp_path / "test.parquet"), geopandas.read_parquet(path)
    assert after.crs == before.crs == crs
    assert (after.geometry == before.geometry).all()
    assert after["xgb_smoothed"].notna().all()
    geo = [pq.read_schema(file).metadata[b"geo"] for file in (tmp_path / "test.parquet", path)]
    assert geo[0] == geo[1]


def test_polars_reads_the_output(smooth, tmp_path):
    table = test_rows(ROWS)
    for name in ("string", "uint64", "dictionary", "list", "struct", "timestamp us with zone", "decimal128", "time64 ns"):
        table = table.append_column(name, COLUMNS[name])
    pq.write_table(table, tmp_path / "test.parquet")
    path = smooth(tmp_path / "test.parquet")
    out = polars.read_parquet(path)
    assert out.drop("xgb_smoothed").equals(polars.read_parquet(tmp_path / "test.parquet"))
    assert out["xgb_smoothed"].to_list() == pq.read_table(path)["xgb_smoothed"].to_pylist()


def test_duckdb_reads_the_output(smooth, tmp_path):
    table = test_rows(ROWS)
    for name in ("string", "uint64", "dictionary", "list", "struct", "map", "timestamp us with zone", "decimal128", "binary"):
        table = table.append_column(name, COLUMNS[name])
    pq.write_table(table, tmp_path / "test.parquet")
    path = smooth(tmp_path / "test.parquet")
    with duckdb.connect() as connection:
        rows = lambda what, file: connection.sql(f"SELECT {what} FROM read_parquet('{file}')").to_arrow_table()
        before, after = rows("*", tmp_path / "test.parquet"), rows("* EXCLUDE xgb_smoothed", path)
        assert after.schema == before.schema and after.to_pylist() == before.to_pylist()
        assert rows("xgb_smoothed", path)["xgb_smoothed"].to_pylist() == pq.read_table(path)["xgb_smoothed"].to_pylist()


def test_bloom_filters_are_kept(smooth, tmp_path):
    """The Bloom filters of pyarrow and DuckDB are copied byte by byte, and DuckDB can use them."""
    # DuckDB writes a filter for a column with few distinct values.
    table = test_rows(1000).append_column("house", pa.array([f"house {i % 4}" for i in range(1000)]))
    pq.write_table(table, tmp_path / "pyarrow.parquet", bloom_filter_options={"house": True})
    with duckdb.connect() as connection:
        connection.sql(f"COPY (FROM '{tmp_path}/pyarrow.parquet') TO '{tmp_path}/duckdb.parquet'")
        for name in ("pyarrow", "duckdb"):
            path = smooth(tmp_path / f"{name}.parquet")
            before, after = bloom_filters(connection, tmp_path / f"{name}.parquet"), bloom_filters(connection, path)
            assert before["house"] and {column: after[column] for column in before} == before
            excluded = lambda value: connection.sql(f"FROM parquet_bloom_probe('{path}', 'house', '{value}')").fetchall()[0][2]
            assert excluded("house 99") and not excluded("house 3")


def bloom_filters(connection, file):
    """The filter of each column, as bytes."""
    what = "path_in_schema, bloom_filter_offset, bloom_filter_length"
    rows = connection.sql(f"SELECT {what} FROM parquet_metadata('{file}')").fetchall()
    data = file.read_bytes()
    return {column: start and data[start : start + length] for column, start, length in rows}
