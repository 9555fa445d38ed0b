"""Columns that are missing, ambiguous, of the wrong type or with unusual names. Numbers as in the list of bad inputs."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import refused, run, written
from sample import Reference, column, test_rows, train_rows, with_column

ROLES = ["prediction", "lat", "lon", "group", "index", "geometry"]


def naming(role, name):
    """Flags that use a column in this role, with the other flags that the role needs."""
    company = {"lat": {"lon": "longitude"}, "lon": {"lat": "latitude"}, "index": {"sigma": 5}}
    return {role: name} | company.get(role, {})


@pytest.mark.parametrize("role", ROLES)
def test_20_column_absent(refused, written, role):
    refused("test.parquet", "'latitud'", test=written(test_rows(20)), hint="'latitude'", **naming(role, "latitud"))


def test_20_label_absent(refused, written):
    train = written(train_rows(20), "train.parquet")
    refused("train.parquet", "'prise'", test=written(test_rows(20)), train=train, label="prise", hint="'price'")


def test_20_nothing_alike_lists_the_columns(refused, written):
    refused("'qqq'", test=written(test_rows(20)), prediction="qqq", hint="id, latitude, longitude, xgb")


def test_20_no_places_lists_the_columns(refused, written):
    table = test_rows(20).rename_columns({"latitude": "north"})
    refused("test.parquet", "latitude and longitude", test=written(table), hint="id, north, longitude, xgb")


def twice(name):
    table = test_rows()
    return pa.table([*table.columns, table[name]], names=[*table.column_names, name])


@pytest.mark.parametrize("role", ROLES)
def test_21_duplicate_names(refused, written, role):
    refused("test.parquet", "'xgb'", "more than once", test=written(twice("xgb")), **naming(role, "xgb"))


@pytest.mark.parametrize("name", ["latitude", "longitude"])
def test_21_duplicate_names_of_places_that_were_found(refused, written, name):
    refused("test.parquet", f"'{name}'", "more than once", test=written(twice(name)))


def test_21_duplicate_names_that_only_pass_through(smooth, written):
    out = smooth(written(twice("id")))
    assert pq.read_schema(out).names == ["id", "latitude", "longitude", "xgb", "id", "xgb_smoothed"]


def test_22_one_column_for_both_coordinates(refused, written):
    refused("test.parquet", "'latitude'", test=written(test_rows(20)), lat="latitude", lon="latitude")


def test_22_one_index_column_twice(refused, written):
    refused("'id'", test=written(test_rows(20)), index="id,id", sigma=5)


NO_NUMBERS = {
    "text": pa.array(["200"] * 20),
    "large text": pa.array(["200"] * 20, pa.large_string()),
    "text in a dictionary": pa.array(["200"] * 20).dictionary_encode(),
    "boolean": pa.array([True] * 20),
    "date": pa.array([dt.date(2024, 1, 1)] * 20),
    "timestamp": pa.array([dt.datetime(2024, 1, 1)] * 20),
    "duration": pa.array([5] * 20, pa.duration("s")),
    "binary": pa.array([b"200"] * 20),
    "nothing": pa.nulls(20),
}
NESTED = {
    "list": pa.array([[1.0]] * 20),
    "list of one size": pa.array([[1.0, 2.0]] * 20, pa.list_(pa.float64(), 2)),
    "struct": pa.array([{"a": 1.0}] * 20),
    "map": pa.array([[("a", 1.0)]] * 20, pa.map_(pa.string(), pa.float64())),
}


@pytest.mark.parametrize("role", ["prediction", "lat", "index"])
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_23_no_number(refused, written, kind, role):
    test = test_rows(20).append_column("it", NO_NUMBERS[kind])
    refused("test.parquet", "'it'", test=written(test), **naming(role, "it"))


@pytest.mark.parametrize("kind", ["text", "boolean"])
def test_23_labels_that_are_no_numbers(refused, written, kind):
    train = written(with_column(train_rows(20), "price", NO_NUMBERS[kind]), "train.parquet")
    refused("train.parquet", "'price'", test=written(test_rows(20)), train=train, label="price")


@pytest.mark.parametrize("role", ["prediction", "lat", "index", "group"])
@pytest.mark.parametrize("kind", NESTED)
def test_25_nested(refused, written, kind, role):
    test = test_rows(20).append_column("it", NESTED[kind])
    refused("test.parquet", "'it'", test=written(test), **naming(role, "it"))


NUMBERS = [
    *(pa.type_for_alias(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(pa.type_for_alias(f"float{bits}") for bits in (16, 32)),
    pa.decimal32(7, 2),
    pa.decimal64(15, 2),
    pa.decimal128(20, 2),
    pa.decimal256(50, 2),
]


def numbers(n, seed, kind):
    whole = np.random.default_rng(seed).integers(0, 120, n)
    if pa.types.is_decimal(kind):
        return pa.array([decimal.Decimal(int(x)).scaleb(-2) for x in whole], kind)
    return pa.array(whole.astype(kind.to_pandas_dtype()), kind)


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_24_numbers_of_every_type(smooth, written, kind):
    test = with_column(test_rows(), "xgb", numbers(150, 5, kind))
    train = with_column(train_rows(), "price", numbers(200, 6, kind))
    out = smooth(written(test), written(train, "train.parquet"))
    Reference(test, train).assert_close(out, 1e-6)


NAMES = ["XGB", "x g b", " x", "größe", "予測", "🏠", "a.b", "a/b", "-x", "--c", "*", "'", '"', "\\", "x\ty", "", "n" * 10_000]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_26_names(binary, written, tmp_path, name):
    """As prediction and as label, which also scores it; --flag=NAME is the only way for a name that begins with a dash."""
    test, train = test_rows(), train_rows()
    flags = {"test": written(test.rename_columns({"xgb": name})), "output": tmp_path / "out.parquet", "prediction": None}
    flags["train"] = written(train.rename_columns({"price": name}), "train.parquet")
    process = run(binary, flags, f"--prediction={name}", f"--label={name}")
    assert process.returncode == 0, process.stderr
    out = pq.read_table(tmp_path / "out.parquet").rename_columns({f"{name}_smoothed": "xgb_smoothed"})
    pq.write_table(out, tmp_path / "renamed.parquet")
    Reference(test, train).assert_close(tmp_path / "renamed.parquet", 1e-6)


def test_26_names_in_messages_are_cut(refused, written):
    refused("'nnnn", test=written(test_rows(20)), prediction="n" * 10_000)


@pytest.mark.parametrize(("exists", "flags"), [
    ("xgb_smoothed", {}),
    ("xgb_error_bound", {"certificate": True}),
    ("n_effective", {"certificate": True}),
])  # fmt: skip
def test_27_output_column_exists(refused, written, exists, flags):
    test = test_rows(20).append_column(exists, pa.nulls(20))
    refused("test.parquet", f"'{exists}'", test=written(test), **flags)


def test_27_a_certificate_column_is_free_without_the_certificate(smooth, written):
    test = test_rows().append_column("n_effective", pa.array(range(150)))
    out = smooth(written(test))
    assert pq.read_table(out)["n_effective"].to_pylist() == list(range(150))


OTHER_SCHEMAS = {
    "a column more": lambda table: table.append_column("more", pa.nulls(len(table), pa.int8())),
    "a column less": lambda table: table.drop_columns(["id"]),
    "another type": lambda table: with_column(table, "id", table["id"].cast("int32")),
    "another order": lambda table: table.select(["latitude", "id", "longitude", "xgb"]),
    "another name": lambda table: table.rename_columns({"id": "ID"}),
}


@pytest.mark.parametrize("change", OTHER_SCHEMAS)
def test_28_files_with_different_schemas(refused, tmp_path, change):
    (tmp_path / "parts").mkdir()
    pq.write_table(test_rows(20), tmp_path / "parts" / "1.parquet")
    pq.write_table(test_rows(20), tmp_path / "parts" / "2.parquet")
    pq.write_table(OTHER_SCHEMAS[change](test_rows(20)), tmp_path / "parts" / "3.parquet")
    refused("1.parquet", "3.parquet", test=tmp_path / "parts")


def exotic(n):
    """Columns that smoothing does not use."""
    some = lambda values, kind=None: pa.array([values[i % len(values)] for i in range(n)], kind)
    noon = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)
    return {
        "nested": some([[{"a": [1, None]}, None], [], None], pa.list_(pa.struct([("a", pa.list_(pa.int8()))]))),
        "map": some([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        "dictionary": some(["red", None, "green"]).dictionary_encode(),
        "zone": some([noon, None], pa.timestamp("us", "Asia/Kathmandu")),
        "decimal": some([decimal.Decimal("-1234567890123456789.01"), None], pa.decimal128(38, 2)),
        "binary": some([b"\x00\xff", b"", None]),
        "fixed": some([b"abc", None], pa.binary(3)),
        "int96": some([noon, None], pa.timestamp("ns")),
        "nan": some([float("nan"), -0.0, float("-inf"), 5e-324, None]),
        "nothing": pa.nulls(n),
    }


def pages(path, group, column):
    """The raw bytes of a column chunk."""
    chunk = pq.read_metadata(path).row_group(group).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return path.read_bytes()[start : start + chunk.total_compressed_size]


def test_29_exotic_columns_pass_bit_by_bit(smooth, written):
    test = test_rows()
    for name, values in exotic(150).items():
        test = test.add_column(0, name, values)
    path = written(test, row_group_size=64, use_deprecated_int96_timestamps=True)
    out = smooth(path)
    before, after = pq.read_metadata(path), pq.read_metadata(out)
    types = {before.schema.column(i).physical_type for i in range(before.num_columns)}
    assert "INT96" in types and "FIXED_LEN_BYTE_ARRAY" in types
    assert [after.row_group(g).num_rows for g in range(3)] == [64, 64, 22]
    for group in range(3):
        for leaf in range(before.num_columns):
            assert pages(out, group, leaf) == pages(path, group, leaf)
    assert pq.read_schema(out).remove(len(test.column_names)).equals(pq.read_schema(path), check_metadata=True)
    Reference(test).assert_close(out, 1e-6)
