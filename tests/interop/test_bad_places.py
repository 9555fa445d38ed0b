"""Invalid coordinates, poles and the date line, rows at one place or far apart. Numbers as in the list of bad inputs."""

import json

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import dense
from damage import refused, run, written
from sample import TOWN, Reference, at, column, test_rows, train_rows, with_column
from test_reading import geo_frame

ENGINES = pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])


def placed(table, latitude, longitude):
    n = len(table)
    table = with_column(table, "latitude", pa.array(np.broadcast_to(np.asarray(latitude, float), n)))
    return with_column(table, "longitude", pa.array(np.broadcast_to(np.asarray(longitude, float), n)))


def moved(table, name, row, value):
    """The table with one coordinate changed."""
    values = table[name].to_pylist()
    values[row] = value
    return with_column(table, name, pa.array(values, pa.float64()))


# --- no places --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), [
    ("latitude", 90.001), ("latitude", -91), ("latitude", 9999), ("longitude", 360.5), ("longitude", -180.5),
])  # fmt: skip
@pytest.mark.parametrize("sigma", ["500m", "0.01deg"])
def test_37_off_the_earth(refused, written, name, value, sigma):
    test = written(moved(test_rows(), name, 99, value))
    refused("test.parquet", name, f" {value} ", "row 99", test=test, sigma=sigma, hint="projected")


def test_37_labels_off_the_earth(refused, written):
    train = written(moved(train_rows(), "latitude", 5, 100.0), "train.parquet")
    refused("train.parquet", "latitude", "100", "row 5", test=written(test_rows()), train=train, label="price")


def test_37_the_row_counts_skipped_rows_too(refused, written):
    test = moved(moved(test_rows(), "latitude", 3, None), "latitude", 99, 100.0)
    refused("latitude", "100", "row 99", test=written(test), on_invalid="skip")


@pytest.mark.parametrize("how", ["flags", "names"])
def test_37_swapped(refused, written, how):
    """Tokyo with its coordinates swapped."""
    test = placed(test_rows(20), 35.68, np.linspace(139.0, 139.9, 20))
    if how == "names":
        test, flags = test.rename_columns({"latitude": "longitude", "longitude": "latitude"}), {}
    else:
        flags = {"lat": "longitude", "lon": "latitude"}
    refused("test.parquet", "latitude", "139", "row 0", test=written(test), hint="swapped", **flags)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["latitude", "longitude"])
def test_41_null_or_nan(refused, smooth, written, name, value):
    path = written(moved(test_rows(), name, 42, value))
    said = "null" if value is None else str(value).replace("nan", "NaN")
    refused("test.parquet", f"'{name}'", f"is {said} at row 42", test=path, hint="--on-invalid skip")

    smoothed = pq.read_table(smooth(path, on_invalid="skip"))["xgb_smoothed"]
    kept = [row for row in range(150) if row != 42]
    reference = Reference(test_rows().take(kept))
    assert smoothed[42].as_py() is None
    assert abs(smoothed.take(kept).to_numpy() - reference.smoothed).max() <= 1e-6 * reference.range


@pytest.mark.parametrize("sigma", ["500m", "0.01deg"])
def test_48_projected_metres_as_degrees(refused, written, sigma):
    rng = np.random.default_rng(1)
    test = placed(test_rows(), 4_613_000 + rng.normal(0, 500, 150), 288_000 + rng.normal(0, 500, 150))
    refused("test.parquet", "latitude", "row 0", test=written(test), sigma=sigma, hint="--index")


# --- all around the Earth ---------------------------------------------------------------------------------------


@ENGINES
def test_38_longitudes_to_180_and_to_360_mixed(smooth, written, engine):
    test, train = test_rows(), train_rows()
    other = at(test)[:, 1] + np.where(np.arange(150) % 2, 360, 0)
    mixed = placed(test, at(test)[:, 0], other)
    assert (other > 180).any() and (other < 0).any()
    out = smooth(written(mixed), written(train, "train.parquet"), engine=engine)
    Reference(test, train).assert_close(out, 1e-6)


@ENGINES
@pytest.mark.parametrize("latitude", [0, 65])
def test_39_across_the_date_line(smooth, written, latitude, engine):
    """The same rows moved by 120° of longitude give the same results."""
    rng = np.random.default_rng(5)
    north, east = latitude + rng.normal(0, 0.01, 150), rng.normal(0, 0.01, 150)
    test = placed(test_rows(), north, (180 + east + 180) % 360 - 180)
    assert {-1, 1} == set(np.sign(at(test)[:, 1]))
    out = smooth(written(test), engine=engine)
    Reference(placed(test_rows(), north, 60 + east)).assert_close(out, 1e-6)
    Reference(test).assert_close(out, 1e-6)


@ENGINES
@pytest.mark.parametrize("pole", [90, -90])
def test_40_a_pole_is_one_place(smooth, written, pole, engine):
    """Rows at the pole are one place for any longitude: they are averaged even with σ of a nanometre."""
    test = placed(test_rows(), pole, np.linspace(-180, 360, 150))
    smoothed = pq.read_table(smooth(written(test), sigma="1e-9m", engine=engine))["xgb_smoothed"].to_numpy()
    assert (smoothed == smoothed[0]).all()
    assert abs(smoothed[0] - column(test, "xgb").mean()) <= 1e-12 * abs(smoothed[0])


@ENGINES
@pytest.mark.parametrize("pole", [90, -90])
def test_40_around_a_pole(smooth, written, pole, engine):
    rng = np.random.default_rng(6)
    north = np.sign(pole) * (90 - abs(rng.normal(0, 0.01, 150)))
    north[:5] = pole
    test = placed(test_rows(), north, rng.uniform(-180, 360, 150))
    Reference(test).assert_close(smooth(written(test), engine=engine), 1e-6)


# --- crowds, few, patterns --------------------------------------------------------------------------------------


def test_42_ten_million_rows_at_one_place(binary, tmp_path):
    n, distinct = 10_000_000, 1000
    path, out = tmp_path / "test.parquet", tmp_path / "out.parquet"
    part = placed(pa.table({"latitude": np.zeros(n // 10), "longitude": np.zeros(n // 10)}), *TOWN)
    part = part.append_column("xgb", pa.array((np.arange(n // 10) % distinct).astype(np.float32)))
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(10):
            writer.write_table(part)
    process = run(binary, {"test": path, "output": out}, timeout=60)
    assert process.returncode == 0, process.stderr
    rows = 0
    for batch in pq.ParquetFile(out).iter_batches(columns=["xgb_smoothed"]):
        rows += len(batch)
        assert (abs(batch["xgb_smoothed"].to_numpy() - (distinct - 1) / 2) <= 1e-9).all()
    assert rows == n
    out.unlink()


@ENGINES
@pytest.mark.parametrize("labels", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_43_one_row_two_rows(smooth, written, n, labels, engine):
    test, train = test_rows(n), train_rows(labels)
    out = smooth(written(test), written(train, "train.parquet"), sigma="2km", c=0.6, engine=engine)
    smoothed = pq.read_table(out)["xgb_smoothed"].to_numpy()
    reference = Reference(test, train, sigma="2km", c=0.6)
    assert abs(smoothed - reference.smoothed).max() <= 1e-6 * reference.range + 1e-12 * abs(smoothed).max()


PATTERNS = {
    "along a meridian": (41 + np.arange(150) * 1e-3, -83.54),
    "along a parallel": (41.65, -83 + np.arange(150) * 1e-3),
    "along the equator": (0, -83 + np.arange(150) * 1e-3),
    "oblique": (41 + np.arange(150) * 1e-3, -83 + np.arange(150) * 1e-3),
    "grid": (41 + np.arange(150) // 15 * 2**-9, -83 + np.arange(150) % 15 * 2**-9),
    "grid, each place ten times": (41 + np.arange(150) % 15 // 5 * 2**-9, -83 + np.arange(150) % 5 * 2**-9),
}


@ENGINES
@pytest.mark.parametrize("sigma", ["150m", "0.002deg"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_44_lines_and_grids(smooth, written, pattern, sigma, engine):
    test = placed(test_rows(), *PATTERNS[pattern])
    out = smooth(written(test), sigma=sigma, engine=engine)
    Reference(test, sigma=sigma).assert_close(out, 1e-6)


# --- far away ---------------------------------------------------------------------------------------------------


@ENGINES
@pytest.mark.parametrize("sigma", ["0.001m", "1e-8deg"])
def test_45_an_outlier_a_billion_sigma_away(smooth, written, sigma, engine):
    rng = np.random.default_rng(9)
    crowd = [centre + rng.normal(0, 2e-8, 150) for centre in TOWN]
    crowd[0][77] += 10.1
    test = placed(test_rows(), *crowd)
    assert dense.in_sigmas(sigma, at(test)[77:78], at(test)[:1]).min() >= 1e9
    out = smooth(written(test), sigma=sigma, engine=engine)
    reference = Reference(test, sigma=sigma)
    assert abs(reference.smoothed - reference.predictions).max() > 1
    reference.assert_close(out, 1e-6)


@ENGINES
def test_45_an_outlier_on_index_columns(smooth, written, engine):
    frame = np.append(np.arange(149) * 0.5, 1e9)
    test = test_rows().append_column("frame", pa.array(frame))
    smoothed = pq.read_table(smooth(written(test), index="frame", sigma="1", engine=engine))["xgb_smoothed"].to_numpy()
    expected = dense.smooth(dense.kernel("1", frame[:, None]), column(test, "xgb"))
    assert abs(smoothed - expected).max() <= 1e-6 * np.ptp(column(test, "xgb"))


@pytest.mark.parametrize("engine", ["auto", "exact", "sparse", "fast"])
@pytest.mark.parametrize("sigma", ["500m", "0.0045deg"])
def test_46_an_isolated_row_six_sigma_from_a_city(smooth, written, sigma, engine):
    """The total weight of the city at the distant row is not negligible: a cutoff at 5 sigma would lose it."""
    n, addresses = 300_000, 500
    rng = np.random.default_rng(10)
    address = rng.integers(0, addresses, n)
    north, east = (centre + rng.normal(0, 1e-4, addresses)[address] for centre in TOWN)
    degrees = 0.0045 if sigma.endswith("deg") else np.degrees(500 / dense.EARTH_RADIUS)
    north[0], east[0] = TOWN[0] + 6 * degrees, TOWN[1]
    values = 200 + 100 * (north > TOWN[0]) + rng.normal(0, 1, n)
    values[0] = 0.0
    test = pa.table({"latitude": north, "longitude": east, "xgb": values})
    places = at(test)
    k = np.exp(-(dense.in_sigmas(sigma, places[:3], places) ** 2) / 2)
    assert k[0, 1:].sum() > 1e-3, "the city must matter"
    smoothed = pq.read_table(smooth(written(test), sigma=sigma, engine=engine))["xgb_smoothed"].to_numpy()
    assert abs(smoothed[:3] - dense.mean(k, values)).max() <= 1e-6 * np.ptp(values)


@ENGINES
@pytest.mark.parametrize("sigma", ["100km", "5000km", "20000km", "1000000km"])
def test_47_antipodes(smooth, written, sigma, engine):
    """Antipodal pairs, including the poles, with kernels that reach around the Earth."""
    latitude, longitude = np.array([90, -90, 0, 0, 41.65, -41.65, 12.5, -12.5]), np.array([0, 17, 0, 180, -83.54, 96.46, 179.9, -0.1])
    test = placed(test_rows(8), latitude, longitude)
    train = placed(train_rows(8), -latitude, np.where(longitude > 0, longitude - 180, longitude + 180))
    out = smooth(written(test), written(train, "train.parquet"), sigma=sigma, engine=engine)
    Reference(test, train, sigma=sigma).assert_close(out, 1e-6)


@pytest.mark.parametrize("engine", ["auto", "exact", "sparse", "fast"])
def test_49_shuffled_rows(smooth, written, engine):
    test, train = test_rows(2000), train_rows(2000)
    rng = np.random.default_rng(11)
    order, other = rng.permutation(2000), rng.permutation(2000)
    first = pq.read_table(smooth(written(test), written(train, "train.parquet"), engine=engine))["xgb_smoothed"].to_numpy()
    shuffled = written(test.take(pa.array(order))), written(train.take(pa.array(other)), "train.parquet")
    second = pq.read_table(smooth(*shuffled, engine=engine))["xgb_smoothed"].to_numpy()
    reference = Reference(test, train)
    assert abs(second - first[order]).max() <= 1e-12 * reference.range
    assert abs(first - reference.smoothed).max() <= 1e-6 * reference.range


# --- GeoParquet -------------------------------------------------------------------------------------------------


def geo_file(tmp_path, row=None, geometry=None, crs="EPSG:4326", **options):
    """The test rows as GeoParquet, one geometry replaced."""
    frame = geo_frame(test_rows(), crs)
    if row is not None:
        frame.loc[row, "geometry"] = geometry
    frame.to_parquet(tmp_path / "geo.parquet", **options)
    return tmp_path / "geo.parquet"


NO_POINTS = {
    "line": shapely.LineString([(0, 0), (1, 1)]),
    "polygon": shapely.box(0, 0, 1, 1),
    "several points": shapely.MultiPoint([(0, 0), (1, 1)]),
    "collection": shapely.GeometryCollection([shapely.Point(0, 0)]),
}


@pytest.mark.parametrize("kind", NO_POINTS)
def test_50_no_point(refused, tmp_path, kind):
    refused("geo.parquet", "'geometry'", "row 33", "not a point", test=geo_file(tmp_path, 33, NO_POINTS[kind]))


@pytest.mark.parametrize("missing", [None, shapely.Point()], ids=["null", "empty"])
def test_50_null_or_empty(refused, smooth, tmp_path, missing):
    path = geo_file(tmp_path, 33, missing)
    refused("geo.parquet", "'geometry'", "row 33", test=path, hint="--on-invalid skip")
    smoothed = pq.read_table(smooth(path, on_invalid="skip"))["xgb_smoothed"]
    kept = [row for row in range(150) if row != 33]
    reference = Reference(test_rows().take(kept))
    assert smoothed[33].as_py() is None
    assert abs(smoothed.take(kept).to_numpy() - reference.smoothed).max() <= 1e-6 * reference.range


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_50_z_values_are_ignored_with_a_note(binary, tmp_path, encoding):
    test = test_rows()
    points = geopandas.points_from_xy(test["longitude"], test["latitude"], z=np.arange(150.0))
    frame = geopandas.GeoDataFrame(test.select(["id", "xgb"]).to_pandas(), geometry=points, crs="EPSG:4326")
    frame.to_parquet(tmp_path / "geo.parquet", geometry_encoding=encoding)
    process = run(binary, {"test": tmp_path / "geo.parquet", "output": tmp_path / "out.parquet"})
    assert process.returncode == 0, process.stderr
    (note,) = process.stderr.decode().splitlines()
    assert note.startswith("warning: ") and "geo.parquet" in note and "z values" in note and "'geometry'" in note
    Reference(test).assert_close(tmp_path / "out.parquet", 1e-6)


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:32617", "EPSG:4269"])
def test_50_another_crs(refused, tmp_path, crs):
    refused("geo.parquet", "'geometry'", crs, test=geo_file(tmp_path, crs=crs), hint="EPSG:4326")


@pytest.mark.parametrize("garbage", [b"", b"\x01", b"\x01\x01\x00\x00\x00", b"\xff" * 21, b"\x01\x01\x00\x00\x00" + b"\xff" * 3])
def test_50_garbage_for_a_point(refused, tmp_path, garbage):
    table = pq.read_table(geo_file(tmp_path))
    points = table["geometry"].to_pylist()
    points[33] = garbage
    broken = table.set_column(table.schema.get_field_index("geometry"), table.schema.field("geometry"), pa.array(points, pa.binary()))
    pq.write_table(broken, tmp_path / "geo.parquet")
    refused("geo.parquet", "'geometry'", "row 33", test=tmp_path / "geo.parquet")


# --- 84: how GeoParquet says that points are encoded (issue 15) ---------------------------------------------------


def with_geo(tmp_path, change=None, text=None):
    """A valid GeoParquet file with changed metadata."""
    table = pq.read_table(geo_file(tmp_path))
    geo = json.loads(table.schema.metadata[b"geo"])
    if change:
        change(geo["columns"]["geometry"])
    metadata = table.schema.metadata | {b"geo": (text(json.dumps(geo)) if text else json.dumps(geo)).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "geo.parquet")
    return tmp_path / "geo.parquet"


@pytest.mark.parametrize("encoding", ["WKT", "linestring", "polygon", "multipoint", "geoarrow.point", "nonsense", "", 7, None])
def test_84_an_encoding_that_is_none_of_points(refused, tmp_path, encoding):
    """Such points were once read as WKB regardless of the metadata."""
    path = with_geo(tmp_path, lambda column: column.update(encoding=encoding))
    said = "null" if encoding is None else str(encoding)
    for flags in ({}, {"geometry": "geometry"}):
        refused("geo.parquet", "'geometry'", f"the encoding '{said}'", "WKB", test=path, hint="WKB points", **flags)


def test_84_an_encoding_that_does_not_fit_the_column(refused, tmp_path):
    refused("'geometry'", "Binary", "structs", "metadata", test=with_geo(tmp_path, lambda column: column.update(encoding="point")))
    frame = geo_frame(test_rows(), "EPSG:4326")
    frame.to_parquet(tmp_path / "arrow.parquet", geometry_encoding="geoarrow")
    table = pq.read_table(tmp_path / "arrow.parquet")
    geo = table.schema.metadata[b"geo"].replace(b'"point"', b'"WKB"')
    pq.write_table(table.replace_schema_metadata({"geo": geo}), tmp_path / "arrow.parquet")
    refused("'geometry'", "a struct", "WKB", "metadata", test=tmp_path / "arrow.parquet")


def test_84_no_encoding_at_all(smooth, tmp_path):
    """Without an encoding, the type of the column decides."""
    path = with_geo(tmp_path, lambda column: column.pop("encoding"))
    Reference(test_rows()).assert_close(smooth(path), 1e-6)


@pytest.mark.parametrize("kind", ["linestring", "wkt", "box"])
def test_84_a_geoarrow_type_that_is_none_of_points(refused, tmp_path, kind):
    field = pa.field("geometry", pa.binary(), metadata={"ARROW:extension:name": f"geoarrow.{kind}", "ARROW:extension:metadata": "{}"})
    table = test_rows(20).select(["id", "xgb"]).append_column(field, pa.array([b""] * 20))
    pq.write_table(table, tmp_path / "arrow.parquet")
    refused("arrow.parquet", "'geometry'", f"the encoding '{kind}'", test=tmp_path / "arrow.parquet")


def test_84_the_crs_of_another_geoarrow_column(refused, tmp_path):
    """The encoding of the first column was once used for all."""
    fields = [
        pa.field(name, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": crs})})
        for name, crs in (("first", "OGC:CRS84"), ("second", "EPSG:3857"))
    ]
    table = test_rows(20).select(["id", "xgb"])
    for field in fields:
        table = table.append_column(field, pa.array([b"\x01\x01\x00\x00\x00" + bytes(16)] * 20))
    pq.write_table(table, tmp_path / "arrow.parquet")
    refused("arrow.parquet", "'second'", "EPSG:3857", test=tmp_path / "arrow.parquet", geometry="second")


# --- 85: JSON in which a key stands twice (issue 15) --------------------------------------------------------------

TWICE = {
    "columns": lambda text: text.replace('"columns"', '"columns": {}, "columns"', 1),
    "crs": lambda text: text.replace('"encoding"', '"crs": null, "crs": null, "encoding"', 1),
    "geometry": lambda text: text.replace('"geometry": {', '"geometry": {}, "geometry": {', 1),
}


@pytest.mark.parametrize("key", TWICE)
def test_85_a_key_twice_in_geoparquet(refused, tmp_path, key):
    path = with_geo(tmp_path, text=TWICE[key])
    for flags in ({}, {"geometry": "geometry"}):
        refused("geo.parquet", "GeoParquet metadata", f"the key '{key}' twice", test=path, hint="--lat", **flags)


def test_85_a_key_twice_in_geoarrow(refused, tmp_path):
    metadata = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": '{"crs": "EPSG:3857", "crs": "OGC:CRS84"}'}
    table = test_rows(20).select(["id", "xgb"]).append_column(pa.field("geometry", pa.binary(), metadata=metadata), pa.array([b""] * 20))
    pq.write_table(table, tmp_path / "arrow.parquet")
    refused("arrow.parquet", "'geometry'", "GeoArrow", "the key 'crs' twice", test=tmp_path / "arrow.parquet")
