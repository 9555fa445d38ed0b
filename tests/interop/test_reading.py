"""geosmooth reads the files of other programs: libraries, codecs, encodings, value types, several files."""

import decimal

import duckdb
import geopandas
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dense
from sample import Reference, at, column, test_rows, train_rows, with_column

CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]


def check(smooth, tmp_path, write, test=None, train=None):
    """Writes both tables with `write(table, path)`, smooths, compares with dense numpy."""
    test, train = test or test_rows(), train or train_rows()
    write(test, tmp_path / "test.parquet")
    write(train, tmp_path / "train.parquet")
    out = smooth(tmp_path / "test.parquet", tmp_path / "train.parquet", c=0.6)
    Reference(test, train, c=0.6).assert_close(out)


# --- libraries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pyarrow_codecs_and_page_versions(smooth, tmp_path, codec, version):
    check(smooth, tmp_path, lambda table, path: pq.write_table(table, path, compression=codec, data_page_version=version))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_polars(smooth, tmp_path, codec):
    check(smooth, tmp_path, lambda table, path: polars.from_arrow(table).write_parquet(path, compression=codec))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "brotli", "lz4_raw", "zstd"])
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_duckdb(smooth, tmp_path, codec, version):
    def write(table, path):
        with duckdb.connect() as connection:
            connection.register("rows", table)
            connection.execute(f"COPY rows TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version})")

    check(smooth, tmp_path, write)


def test_pandas_with_an_index(smooth, tmp_path):
    def write(table, path):
        frame = table.to_pandas()
        frame.index = [f"row {i}" for i in range(len(frame))]
        frame.to_parquet(path)

    check(smooth, tmp_path, write)


def geo_frame(table, crs="EPSG:4326"):
    """The same rows with points instead of latitude and longitude."""
    frame = table.drop_columns(["latitude", "longitude"]).to_pandas()
    return geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(table["longitude"], table["latitude"]), crs=crs)


@pytest.mark.parametrize("crs", ["EPSG:4326", "OGC:CRS84"])
@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_geopandas(smooth, tmp_path, encoding, crs):
    check(smooth, tmp_path, lambda table, path: geo_frame(table, crs).to_parquet(path, geometry_encoding=encoding))


def test_geopandas_with_a_covering_box(smooth, tmp_path):
    check(smooth, tmp_path, lambda table, path: geo_frame(table).to_parquet(path, write_covering_bbox=True))


def test_geopandas_places_named_by_flag(smooth, tmp_path):
    test, train = test_rows(), train_rows()
    for table, name in ((test, "test"), (train, "train")):
        frame = geo_frame(table).rename_geometry("where")
        frame["centroid"] = geopandas.points_from_xy(np.zeros(len(frame)), np.zeros(len(frame)))
        frame.to_parquet(tmp_path / name)
    out = smooth(tmp_path / "test", tmp_path / "train", geometry="where")
    Reference(test, train).assert_close(out)


# --- pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["PLAIN", "BYTE_STREAM_SPLIT", "dictionary"])
def test_encodings_of_floats(smooth, tmp_path, encoding, version):
    encode = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": encoding}
    check(smooth, tmp_path, lambda table, path: pq.write_table(table, path, data_page_version=version, **encode))


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "dictionary"])
def test_encodings_of_integers(smooth, tmp_path, encoding, kind):
    test = with_column(test_rows(), "xgb", integers(150, 3).cast(kind))
    train = with_column(train_rows(), "price", integers(200, 4).cast(kind))

    def write(table, path):
        name = "xgb" if "xgb" in table.column_names else "price"
        encode = {"use_dictionary": [name]} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {name: encoding}}
        pq.write_table(table, path, **encode)

    check(smooth, tmp_path, write, test, train)


def test_small_pages_and_row_groups_with_checksums_and_indexes(smooth, tmp_path):
    def write(table, path):
        pq.write_table(
            table, path, row_group_size=37, data_page_size=64, write_batch_size=8, write_page_checksum=True, write_page_index=True
        )

    check(smooth, tmp_path, write)


def test_required_columns(smooth, tmp_path):
    def write(table, path):
        required = pa.schema([field.with_nullable(False) for field in table.schema])
        pq.write_table(table.cast(required), path)

    check(smooth, tmp_path, write)


def test_without_an_embedded_arrow_schema(smooth, tmp_path):
    check(smooth, tmp_path, lambda table, path: pq.write_table(table, path, store_schema=False))


# --- value types ------------------------------------------------------------------------------------------------


def integers(n, seed, low=0, high=120):
    return pa.array(np.random.default_rng(seed).integers(low, high, n))


def decimals(n, seed, kind):
    cents = np.random.default_rng(seed).integers(-99_999, 99_999, n)
    return pa.array([decimal.Decimal(int(c)).scaleb(-2) for c in cents], kind)


VALUE_TYPES = [
    *(pa.type_for_alias(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(pa.type_for_alias(f"float{bits}") for bits in (16, 32, 64)),
    pa.decimal32(7, 2),
    pa.decimal64(15, 2),
    pa.decimal128(20, 2),
    pa.decimal256(50, 2),
]


def values(n, seed, kind):
    if pa.types.is_decimal(kind):
        return decimals(n, seed, kind)
    low = 0 if pa.types.is_unsigned_integer(kind) else -120
    return pa.array(integers(n, seed, low).to_numpy().astype(kind.to_pandas_dtype()), kind)


@pytest.mark.parametrize("kind", VALUE_TYPES, ids=str)
def test_value_types(smooth, tmp_path, kind):
    test = with_column(test_rows(), "xgb", values(150, 5, kind))
    train = with_column(train_rows(), "price", values(200, 6, kind))
    check(smooth, tmp_path, pq.write_table, test, train)


@pytest.mark.parametrize("integer", [False, True])
def test_decimals_stored_as_integers(smooth, tmp_path, integer):
    test = with_column(test_rows(), "xgb", decimals(150, 5, pa.decimal128(15, 2)))
    check(smooth, tmp_path, lambda table, path: pq.write_table(table, path, store_decimal_as_integer=integer), test)


def test_the_largest_integers(smooth, tmp_path):
    huge = with_column(test_rows(), "xgb", pa.array([2**64 - 1 - i for i in range(150)], pa.uint64()))
    pq.write_table(huge, tmp_path / "test.parquet")
    smoothed = pq.read_table(smooth(tmp_path / "test.parquet"))["xgb_smoothed"].to_numpy()
    assert (smoothed == 2.0**64).all()


@pytest.mark.parametrize("kind", [pa.float32(), pa.decimal128(12, 6)], ids=str)
def test_coordinate_types(smooth, tmp_path, kind):
    def narrowed(table):
        for name in ("latitude", "longitude"):
            table = with_column(table, name, pa.array(np.round(column(table, name), 6)).cast(kind, safe=False))
        return table

    check(smooth, tmp_path, pq.write_table, narrowed(test_rows()), narrowed(train_rows()))


# --- which rows, which columns ----------------------------------------------------------------------------------


def parts(folder, table, sizes):
    """One file for each of these sizes, with names in the order of the rows."""
    folder.mkdir()
    first = 0
    for number, size in enumerate(sizes):
        pq.write_table(table.slice(first, size), folder / f"part-{number:03}.parquet")
        first += size
    assert first == len(table)


@pytest.mark.parametrize("pattern", ["", "*.parquet", "part-00[0-9].parquet"])
def test_directories_and_globs(smooth, tmp_path, pattern):
    test, train = test_rows(), train_rows()
    parts(tmp_path / "test", test, [50, 0, 99, 1])
    parts(tmp_path / "train", train, [120, 80])
    out = smooth(tmp_path / "test" / pattern, tmp_path / "train" / pattern)
    Reference(test, train).assert_close(out)
    assert pq.read_table(out)["id"].to_pylist() == list(range(150))


def test_without_training_rows(smooth, tmp_path):
    pq.write_table(test_rows(), tmp_path / "test.parquet")
    Reference(test_rows()).assert_close(smooth(tmp_path / "test.parquet"))


def test_places_named_by_flags(smooth, tmp_path):
    test, train = test_rows(), train_rows()
    for table, name in ((test, "test"), (train, "train")):
        decoys = {"lat": pa.nulls(len(table), pa.float64()), "lon": pa.nulls(len(table), pa.float64())}
        table = table.rename_columns({"latitude": "Breite °N", "longitude": "Länge °O"})
        pq.write_table(pa.table({**decoys, **dict(zip(table.column_names, table.columns))}), tmp_path / name)
    out = smooth(tmp_path / "test", tmp_path / "train", lat="Breite °N", lon="Länge °O")
    Reference(test, train).assert_close(out)


def test_plain_degrees(smooth, tmp_path):
    pq.write_table(test_rows(), tmp_path / "test.parquet")
    pq.write_table(train_rows(), tmp_path / "train.parquet")
    out = smooth(tmp_path / "test.parquet", tmp_path / "train.parquet", sigma="0.004deg", label_weight=2.5)
    Reference(test_rows(), train_rows(), sigma="0.004deg", label_weight=2.5).assert_close(out)


def test_index_columns(smooth, tmp_path):
    test = test_rows()
    metres = at(test) * 111_000
    test = test.drop_columns(["latitude", "longitude"]).append_column("easting", pa.array(metres[:, 1]))
    test = test.append_column("northing", pa.array(metres[:, 0]))
    pq.write_table(test, tmp_path / "test.parquet")
    smoothed = pq.read_table(smooth(tmp_path / "test.parquet", sigma="500", index="easting,northing"))["xgb_smoothed"]
    predictions = column(test, "xgb")
    expected = dense.smooth(dense.kernel("500", metres), predictions)
    assert abs(smoothed.to_numpy() - expected).max() <= 1e-5 * np.ptp(predictions)


def test_skipped_rows(smooth, tmp_path):
    test, bad = test_rows(), {3: None, 60: float("nan"), 149: float("inf")}
    broken = with_column(test, "xgb", pa.array([bad.get(i, x) for i, x in enumerate(test["xgb"].to_pylist())]))
    pq.write_table(broken, tmp_path / "test.parquet")
    smoothed = pq.read_table(smooth(tmp_path / "test.parquet", on_invalid="skip"))["xgb_smoothed"]
    kept = [i for i in range(150) if i not in bad]
    reference = Reference(test.take(kept))
    assert [i for i, x in enumerate(smoothed.to_pylist()) if x is None] == list(bad)
    assert abs(smoothed.take(kept).to_numpy() - reference.smoothed).max() <= 1e-5 * reference.range
