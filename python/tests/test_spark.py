"""Spark against one machine: the same rows, the same values within the tolerance, whatever happens to the tiles."""

import datetime
import decimal
from zlib import crc32

import geosmooth
import geosmooth.spark
import numpy as np
import pyarrow as pa
import pytest
from cluster import by_id, rows, setting, values

from geosmooth.spark import _jobs, _smooth
from geosmooth.spark._moments import Moments
from geosmooth.spark._tiles import Tiles

ASKED = {"label": "price", "prediction": "model", "c": 0.8, "label_weight": 3.0}
EPSILON = 1e-6


@pytest.fixture
def jobs(monkeypatch):
    """The jobs that were chosen, as the driver made them."""
    made = []

    def job(*given):
        made.append(real(*given))
        return made[-1]

    real = _smooth.job
    monkeypatch.setattr(_smooth, "job", job)
    return made


@pytest.fixture
def in_tiles(monkeypatch, jobs):
    """The same where moments are never chosen."""
    monkeypatch.setattr(_jobs, "group_of_all", lambda *given: None)
    return jobs


def check(frame, test, train, **options):
    """A smoothed frame against all pairs of the same rows."""
    found = by_id(frame)
    exact = geosmooth.smooth(test, train, engine="exact", **options)
    assert found.column("id").to_pylist() == test.column("id").to_pylist()
    worst = np.abs(values(found) - values(exact)).max() / spread(test, train)
    assert worst <= EPSILON
    return found


def spread(test, train):
    """The range of all sources."""
    return np.ptp(np.concatenate([values(test, "model"), values(train, "price")]))


@pytest.mark.parametrize(
    ("sigma", "way"), [("100m", Tiles), ("20km", Tiles), ("100km", Moments), ("2000km", Tiles), ("5deg", Moments)]
)
def test_small_middle_and_wide_sigma_across_the_date_line(spark, monkeypatch, jobs, sigma, way):
    monkeypatch.setattr(_jobs, "MULTIPLICATIONS_PER_COPY", 1e9 if way is Moments else 0.0)
    test, train = rows(4000, 1), rows(3000, 2)
    frames = [spark.createDataFrame(table).repartition(5) for table in (test, train)]
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, sigma=sigma, certificate=True, memory_per_task="8MiB")
    found = check(smoothed, test, train, **ASKED, sigma=sigma)
    assert type(jobs[0]) is way
    assert found.column_names == [*test.column_names, "model_smoothed", "model_error_bound", "n_effective"]
    bound = values(found, "model_error_bound")
    assert (bound >= 0).all() and bound.max() <= EPSILON * spread(test, train)
    one = geosmooth.smooth(test, train, **ASKED, sigma=sigma, certificate=True)
    assert np.allclose(values(found, "n_effective"), values(one, "n_effective"), rtol=1e-3)


def test_tiles_are_many_where_memory_is_little(spark, in_tiles):
    test, train = rows(20_000, 3), rows(10_000, 4)
    frames = [spark.createDataFrame(table) for table in (test, train)]
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, sigma="300m", memory_per_task="4MiB")
    check(smoothed, test, train, **ASKED, sigma="300m")
    assert len(in_tiles[0].partition.tiles) > 10


def test_one_place_with_half_of_all_rows(spark, in_tiles):
    test, train = rows(6000, 5), rows(1000, 6)
    inside = np.arange(6000) % 2 == 1
    for name, at in (("lat", 1.5), ("lon", 2.5)):
        moved = np.where(inside, at, values(test, name))
        test = test.set_column(test.column_names.index(name), name, pa.array(moved))
    frames = [spark.createDataFrame(table).repartition(7) for table in (test, train)]
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, sigma="1km", memory_per_task="2200KiB")
    check(smoothed, test, train, **ASKED, sigma="1km")
    partition = in_tiles[0].partition
    assert partition.deals and len(partition.tiles) > 2


@pytest.mark.parametrize(
    "options", [{"sigma": "1km"}, {"sigma": "0.01deg", "group": "market"}], ids=["metres", "groups"]
)
def test_more_rows_in_reach_of_each_other_than_a_task_holds(spark, in_tiles, options):
    markets = pa.array(np.where(np.arange(9000) % 10 == 1, "few", "many"))
    test, train = (rows(9000, seed).append_column("market", markets) for seed in (5, 6))
    frames = [spark.createDataFrame(table).repartition(5) for table in (test, train)]
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, **options, certificate=True, memory_per_task="3MiB")
    found = check(smoothed, test, train, **ASKED, **options)
    assert values(found, "model_error_bound").max() <= EPSILON * spread(test, train)
    partition = in_tiles[0].partition
    assert any(end - first > 4 for first, end in partition.tile_groups) and partition.tile_groups[0][0] > 0


def test_empty_partitions_and_frames(spark):
    test, train = rows(4, 7), rows(3, 8)
    frames = [spark.createDataFrame(table).repartition(6) for table in (test, train)]
    check(geosmooth.spark.smooth(*frames, **ASKED, sigma="50km"), test, train, **ASKED, sigma="50km")
    nobody = frames[1].where("id < 0")
    check(geosmooth.spark.smooth(frames[0], nobody, **ASKED, sigma="50km"), test, train[:0], **ASKED, sigma="50km")
    nothing = geosmooth.spark.smooth(frames[0].where("id < 0"), frames[1], **ASKED, sigma="50km")
    assert nothing.columns == [*test.column_names, "model_smoothed"] and nothing.count() == 0


def test_without_labelled_rows_and_several_predictions(spark):
    test = rows(500, 9)
    test = test.append_column("other", pa.array(values(test, "model") ** 2))
    asked = {"prediction": ["model", "other"], "sigma": "0.05deg", "c": 1.0}
    found = by_id(geosmooth.spark.smooth(spark.createDataFrame(test), **asked))
    exact = geosmooth.smooth(test, engine="exact", **asked)
    for name in asked["prediction"]:
        off = np.abs(values(found, f"{name}_smoothed") - values(exact, f"{name}_smoothed")).max()
        assert off <= EPSILON * np.ptp(values(test, name))


def test_index_columns(spark):
    test, train = rows(700, 10), rows(300, 11)
    asked = ASKED | {"index": ["lat", "price", "id"], "sigma": 3, "label": "model"}
    found = by_id(geosmooth.spark.smooth(*map(spark.createDataFrame, (test, train)), **asked))
    exact = geosmooth.smooth(test, train, engine="exact", **asked)
    assert np.abs(values(found) - values(exact)).max() <= EPSILON * np.ptp(values(test, "model"))


def colliding():
    """Two groups that count as one."""
    seen = {}
    for number in range(10_000):
        name = f"market {number}"
        other = seen.setdefault(crc32(name.encode()) % 4096, name)
        if other != name:
            return other, name
    raise AssertionError("no two of ten thousand names share one of 4096 numbers")


@pytest.mark.parametrize(("sigma", "way"), [("10km", Tiles), ("2deg", Moments)])
def test_groups_never_mix_even_where_they_count_as_one(spark, jobs, sigma, way):
    test, train = rows(900, 12), rows(600, 13)
    names = np.array([*colliding(), "a third"])
    test, train = (table.append_column("market", pa.array(names[np.arange(len(table)) % 3])) for table in (test, train))
    asked = ASKED | {"sigma": sigma, "group": "market"}
    frames = [spark.createDataFrame(table) for table in (test, train)]
    check(geosmooth.spark.smooth(*frames, **asked, memory_per_task="3MiB"), test, train, **asked)
    assert type(jobs[0]) is way


def test_numbers_are_groups_too(spark):
    test, train = rows(90, 14), rows(60, 15)
    asked = ASKED | {"sigma": "300km", "group": "market"}
    test = test.append_column("market", pa.array(np.arange(90) % 2))
    train = train.append_column("market", pa.array((np.arange(60) % 2).astype(np.int32)))
    check(geosmooth.spark.smooth(*map(spark.createDataFrame, (test, train)), **asked), test, train, **asked)


def test_decimals_of_many_digits_are_groups(spark):
    """Issue 15: values are compared, in all their digits and whatever their scale."""
    test, train = rows(90, 14), rows(60, 15)
    asked = ASKED | {"sigma": "300km", "group": "market"}
    large = 12_345_678_901_234_567_890
    keys = [pa.array([decimal.Decimal(large + k % 2) for k in range(n)], kind) for n, kind in ((90, pa.decimal128(38, 0)), (60, pa.decimal128(38, 5)))]
    test, train = test.append_column("market", keys[0]), train.append_column("market", keys[1])
    check(geosmooth.spark.smooth(*map(spark.createDataFrame, (test, train)), **asked), test, train, **asked)


def test_index_columns_that_floats_do_not_hold(spark):
    """Issue 15: exact, or an error before anything is smoothed."""
    asked = ASKED | {"index": "t", "sigma": 50}
    for kind in (pa.int64(), pa.decimal128(38, 0)):
        near, far = (
            [pa.table({"id": range(40), "t": pa.array([start + 100 * k for k in range(40)]).cast(kind), name: np.arange(40.0)}) for name in ("model", "price")]
            for start in (0, 2**62 + 1)
        )
        with pytest.raises(ValueError, match=r"<t.*>: column 't' has 46116860184273\d{5}, which no float.*\nhint: .*subtract one number"):
            geosmooth.spark.smooth(*map(spark.createDataFrame, far), **asked)
        check(geosmooth.spark.smooth(*map(spark.createDataFrame, near), **asked), *near, **asked)


def test_all_columns_keep_their_values_and_types(spark):
    test = rows(60, 16)
    more = {
        "Name with `ticks` and.dots": pa.array([None if k % 7 == 0 else f"home {k}" for k in range(60)]),
        "sold": pa.array([datetime.datetime(2026, 11, 18, 7, k, tzinfo=datetime.UTC) for k in range(60)], pa.timestamp("us", "UTC")),
        "day": pa.array([datetime.date(2026, 11, 1 + k % 28) for k in range(60)]),
        "money": pa.array([decimal.Decimal(k) / 4 for k in range(60)], pa.decimal128(12, 2)),
        "rooms": pa.array([[1.0] * (k % 3) for k in range(60)], pa.list_(pa.float64())),
        "owner": pa.array([{"name": "x", "age": k} for k in range(60)]),
        "tags": pa.array([[("a", k)] for k in range(60)], pa.map_(pa.string(), pa.int64())),
        "raw": pa.array([bytes([k]) for k in range(60)]),
        "small": pa.array(np.arange(60, dtype=np.int16)),
    }  # fmt: skip
    for name, column in more.items():
        test = test.append_column(name, column)
    frame = spark.createDataFrame(test)
    smoothed = geosmooth.spark.smooth(frame, prediction="model", sigma="10km", c=0.5)
    assert smoothed.schema.fields[:-1] == frame.schema.fields
    assert by_id(smoothed).drop_columns("model_smoothed").equals(by_id(frame))


@pytest.mark.parametrize("sigma", ["10km", "5deg"])
def test_rows_that_are_alike_all_come_back(spark, sigma):
    test = rows(50, 17)
    test = pa.concat_tables([test, test, test])
    frame = spark.createDataFrame(test).repartition(3)
    found = by_id(geosmooth.spark.smooth(frame, prediction="model", sigma=sigma, c=0.5))
    assert found.column("id").to_pylist() == sorted(test.column("id").to_pylist())


def with_holes(table):
    """A prediction that is NaN, one that is null, a place that is null and one that is infinite."""
    model = [None if k == 3 else float("nan") if k == 5 else x for k, x in enumerate(values(table, "model"))]
    lat = [None if k == 8 else x for k, x in enumerate(values(table, "lat"))]
    lon = [float("inf") if k == 9 else x for k, x in enumerate(values(table, "lon"))]
    for name, column in (("model", model), ("lat", lat), ("lon", lon)):
        table = table.set_column(table.column_names.index(name), name, pa.array(column, from_pandas=False))
    return table


@pytest.mark.parametrize("sigma", ["10km", "5deg"])
def test_rows_that_cannot_take_part(spark, sigma):
    test, train = with_holes(rows(300, 18)), rows(200, 19)
    asked = ASKED | {"sigma": sigma}
    frames = [spark.createDataFrame(table) for table in (test, train)]
    with pytest.raises(ValueError, match="<test>: column '(lat|lon|model)' is null, NaN or infinite in . rows\nhint: .*skip"):
        geosmooth.spark.smooth(*frames, **asked)
    found = by_id(geosmooth.spark.smooth(*frames, **asked, on_invalid="skip"))
    exact = geosmooth.smooth(test, train, engine="exact", on_invalid="skip", **asked)
    empty = [k for k, value in enumerate(found.column("model_smoothed").to_pylist()) if value is None]
    assert empty == [3, 5, 8, 9] and len(found) == 300
    assert np.nanmax(np.abs(values(found) - values(exact))) <= EPSILON * 5


def test_tuned_parameters_are_taken(spark):
    test, train = rows(300, 20), rows(200, 21)
    params = {"version": 1, "prediction": "model", "label": "price", "sigma": "40km", "c": 0.5, "label_weight": 2.0}
    frames = [spark.createDataFrame(table) for table in (test, train)]
    check(geosmooth.spark.smooth(*frames, params=params), test, train, params=params)
    correct = {"sigma": "1km", "shrink": 0.5, "train_prediction": "model"}
    with pytest.raises(ValueError, match="correct step, which is not there on Spark\nhint: "):
        geosmooth.spark.smooth(*frames, params=params | {"correct": correct})


def test_files_in_and_out(spark, tmp_path):
    test, train = rows(2000, 22), rows(1000, 23)
    for name, table in (("test", test), ("train", train)):
        spark.createDataFrame(table).repartition(3).write.parquet(str(tmp_path / name))
    frames = [spark.read.parquet(str(tmp_path / name)) for name in ("test", "train")]
    geosmooth.spark.smooth(*frames, **ASKED, sigma="5km").write.parquet(str(tmp_path / "out"))
    check(spark.read.parquet(str(tmp_path / "out")), test, train, **ASKED, sigma="5km")


@pytest.mark.parametrize(
    "options",
    [
        {"prediction": "modle", "sigma": "300m", "c": 1},
        {"prediction": "name", "sigma": "300m", "c": 1},
        {"prediction": "model", "sigma": "300", "c": 1},
        {"prediction": "model", "sigma": "300m", "c": 1.5},
        {"prediction": "model", "sigma": "300m"},
        {"prediction": "model", "sigma": "300m", "c": 1, "lat": "latitude", "lon": "lon"},
        {"prediction": "model", "sigma": "300m", "c": 1, "group": "nobody"},
    ],
    ids=lambda options: " ".join(f"{name}={value}" for name, value in options.items()),
)
def test_a_wrong_request_is_refused_before_anything_runs(spark, options):
    test = rows(10, 24).append_column("name", pa.array(["x"] * 10))
    with pytest.raises(ValueError) as expected:
        geosmooth.smooth(test, **options)
    with pytest.raises(ValueError) as raised:
        geosmooth.spark.smooth(spark.createDataFrame(test), **options)
    assert str(raised.value) == str(expected.value)


def test_other_refusals(spark):
    test = spark.createDataFrame(rows(10, 25))
    asked = {"prediction": "model", "sigma": "300m", "c": 1}
    with pytest.raises(TypeError, match="test is Table, not a DataFrame of Spark"):
        geosmooth.spark.smooth(rows(10, 25), **asked)
    with pytest.raises(ValueError, match="'lat' is there twice"):
        geosmooth.spark.smooth(test.select("*", "lat"), **asked)
    with pytest.raises(ValueError, match="memory is 'much', but must be a positive number of bytes, such as 2GiB"):
        geosmooth.spark.smooth(test, **asked, memory_per_task="much")
    with pytest.raises(ValueError, match="<test>: latitude 1[78].* is not between -90 and 90\nhint: latitude and longitude may be swapped"):
        geosmooth.spark.smooth(test.selectExpr("model", "abs(lon) as lat", "lat as lon"), **asked)
    with pytest.raises(ValueError, match="<test>: the group is null in 10 rows"):
        geosmooth.spark.smooth(test.selectExpr("*", "cast(null as string) as market"), **asked, group="market")
    with pytest.raises(ValueError, match="<test>: column 'a.b' has a dot or a tick in its name"):
        geosmooth.spark.smooth(test.withColumnRenamed("model", "a.b"), **asked | {"prediction": "a.b"})
    with pytest.raises(MemoryError, match="a tile with all rows that reach it needs .*\nhint: raise memory_per_task"):
        geosmooth.spark.smooth(test, **asked, memory_per_task="1KiB")


def test_rows_that_change_are_an_error_that_says_so(spark):
    """The clock moves rows from one job to the next."""
    clock = "pmod(unix_micros(current_timestamp()) / 1e5 + id, 170) as lon"
    moving = spark.createDataFrame(rows(200, 26)).selectExpr("model", "lat", clock)
    changing = geosmooth.spark.smooth(moving, prediction="model", sigma="1m", c=1)
    with pytest.raises(Exception, match="a row is where none was counted"):
        changing.collect()


def test_the_driver_takes_no_rows(spark, tmp_path):
    place = ["-20 + 10 * pmod(id * 0.754877666, 1) as lat", "170 + 20 * pmod(id * 0.569840291, 1) as lon"]
    frame = spark.range(0, 60_000, 1, 4).selectExpr("id", *place, "sin(id) as model", "repeat(md5(string(id)), 6) as note")
    with pytest.raises(Exception, match="maxResultSize"):
        frame.toArrow()
    smoothed = geosmooth.spark.smooth(frame, prediction="model", sigma="2km", c=1)
    smoothed.write.parquet(str(tmp_path / "out"))
    written = spark.read.parquet(str(tmp_path / "out"))
    found = written.selectExpr("count(model_smoothed)", "count(distinct id)", "count(distinct note)").first()
    assert tuple(found) == (60_000, 60_000, 60_000)


def test_tiles_keep_all_tasks_busy(spark, in_tiles):
    frame = spark.range(0, 400_000).selectExpr("pmod(id * 0.754877666, 1) as lat", "pmod(id * 0.569840291, 1) as lon", "sin(id) as model")
    with setting(spark, "spark.sql.shuffle.partitions", "8"):
        geosmooth.spark.smooth(frame, prediction="model", sigma="100m", c=1)
    assert len(in_tiles[0].partition.tiles) == 8
