"""Rows that are not the same each time that they are computed: nothing is proven of them, and that is said (issue 15)."""

import os
import sys
from types import SimpleNamespace

import geosmooth
import geosmooth.spark
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from cluster import by_id, rows, values
from pyspark import cloudpickle

from geosmooth.spark import _jobs, _smooth, _tune
from geosmooth.spark._moments import Moments
from geosmooth.spark._tiles import Tiles
from geosmooth.spark._tree import USUAL_TASKS, tasks

ASKED = {"label": "price", "prediction": "model", "c": 0.8}
COMPLAINT = "(when they were counted|were counted|none was counted)(.|\n)*hint: rows must be the same each time(.|\n)*DataFrame.persist"

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WAYS = {
    "tiles": {"sigma": "300m", "memory_per_task": "4MiB"},
    "tile groups": {"sigma": "1km", "memory_per_task": "3MiB"},
    "moments": {"sigma": "5deg"},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Options by which a job is done in this way."""
    if request.param == "moments":
        monkeypatch.setattr(_jobs, "MULTIPLICATIONS_PER_COPY", 1e9)
    else:
        monkeypatch.setattr(_jobs, "group_of_all", lambda *given: None)
    made, real = [], _smooth.job
    monkeypatch.setattr(_smooth, "job", lambda *given: made.append(real(*given)) or made[-1])
    yield WAYS[request.param]
    assert all(type(job) is (Moments if request.param == "moments" else Tiles) for job in made)
    assert request.param != "tile groups" or all(job.partition.tile_groups for job in made)


@pytest.fixture(scope="module")
def tables():
    return rows(9000, 5), rows(9000, 6)


def replaced(table, name, column):
    return table.set_column(table.schema.get_field_index(name), name, column)


def of_one(table, name, by):
    """Another value in the row whose number is 7."""
    return replaced(table, name, pc.if_else(pc.equal(table["id"], 7), pc.add(table[name], by), table[name]))


def turned_around(table, name):
    return replaced(table, name, pa.array(table[name].to_numpy(zero_copy_only=False)[::-1]))


CHANGES = {
    "another prediction": lambda table: of_one(table, "model", 1e-9),
    "another label": lambda table: of_one(table, "price", 1e-9),
    "the same values in other rows": lambda table: turned_around(table, "model"),
    "a row for another": lambda table: table.take(pa.array(np.maximum(np.arange(len(table)), 1))),
    "nobody": lambda table: table[:0],
}


def changing(frame, marker):
    """A frame whose rows change as a file says, whenever they are computed."""
    def work(batches):
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if os.path.exists(marker):
                with open(marker) as file:
                    table = CHANGES[file.read()](table)
            yield from table.combine_chunks().to_batches()

    return frame.mapInArrow(work, frame.schema)


def frames_of(spark, tables, markers, parts=4):
    return [changing(spark.createDataFrame(table).repartition(parts), str(marker)) for table, marker in zip(tables, markers, strict=True)]


def raised(work):
    with pytest.raises(Exception, match=COMPLAINT) as error:
        work()
    return error


def test_rows_that_change_after_they_were_counted(spark, tables, way, tmp_path):
    """By moments labels have been added up by then: it is rows to predict that are read off."""
    markers = [tmp_path / "test", tmp_path / "train"]
    frames = frames_of(spark, tables, markers)
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, **way)
    for which, changes in enumerate((set(CHANGES) - {"another label"}, {"another label", "nobody"})):
        for change in sorted(changes) if way is not WAYS["moments"] or which == 0 else ():
            markers[which].write_text(change)
            # Another frame each time, or Spark would find what it shuffled before.
            raised(smoothed.select("*").collect)
            markers[which].unlink()
    exact = geosmooth.smooth(*tables, **ASKED, sigma=way["sigma"], engine="exact")
    assert np.abs(values(by_id(smoothed.select("*"))) - values(exact)).max() <= 1e-5


@pytest.mark.parametrize("which", [0, 1], ids=["test", "train"])
def test_rows_that_change_before_they_are_added_up(spark, tables, monkeypatch, tmp_path, which):
    markers = [tmp_path / "test", tmp_path / "train"]
    frames = frames_of(spark, tables, markers)

    def changed(*given):
        monkeypatch.setattr(_jobs, "MULTIPLICATIONS_PER_COPY", 1e9)
        markers[which].write_text(["another prediction", "another label"][which])
        return real(*given)

    real = _smooth.job
    monkeypatch.setattr(_smooth, "job", changed)
    raised(lambda: geosmooth.spark.smooth(*frames, **ASKED, **WAYS["moments"]))


def at_random(batches):
    """A model that says something else each time."""
    random = np.random.default_rng()
    for batch in batches:
        noisy = batch.column("model").to_numpy(zero_copy_only=False) + random.normal(0, 1, batch.num_rows)
        yield batch.set_column(batch.schema.get_field_index("model"), "model", pa.array(noisy))


def test_a_random_model(spark, tables, way):
    """The case of the issue: errors of thousands under a certificate of 0.30."""
    test, train = (spark.createDataFrame(table).repartition(4) for table in tables)
    random = test.mapInArrow(at_random, test.schema)
    raised(lambda: geosmooth.spark.smooth(random, train, **ASKED, **way, certificate=True).collect())


@pytest.mark.parametrize("sigma", ["20km", "500km"], ids=["tiles", "moments"])
def test_a_limit_without_an_order(spark, tables, sigma):
    """Another half of the rows each time, all within one cube of space."""

    def shuffled(batches):
        random = np.random.default_rng()
        for batch in batches:
            yield batch.take(pa.array(random.permutation(batch.num_rows)))

    test = spark.createDataFrame(tables[0]).where("lat between -17.01 and -16.99 and abs(lon) > 179.99")
    half = test.repartition(2).mapInArrow(shuffled, test.schema).limit(300)
    raised(lambda: geosmooth.spark.smooth(half, prediction="model", sigma=sigma, c=1).collect())


RANDOM = {
    "predictions": lambda frame, rand: frame.withColumn("model", frame.model + 50 * rand),
    "places": lambda frame, rand: frame.withColumn("lat", frame.lat + 0.1 * rand),
    "rows": lambda frame, rand: frame.orderBy(rand).limit(5000),
}


@pytest.mark.parametrize("sigma", ["300m", "5deg"], ids=["tiles", "moments"])
@pytest.mark.parametrize("what", RANDOM)
def test_random_functions_of_spark(spark, tables, monkeypatch, sigma, what):
    """They are the same in each reading of some columns, and others where all columns are read. By moments errors were a thousand times the
    certificate, without a word."""
    from pyspark.sql import functions

    if sigma == "5deg":
        monkeypatch.setattr(_jobs, "MULTIPLICATIONS_PER_COPY", 1e9)
    test, train = (spark.createDataFrame(table).repartition(4) for table in tables)
    random = RANDOM[what](test, functions.rand())
    raised(lambda: geosmooth.spark.smooth(random, train, **ASKED, sigma=sigma, certificate=True).collect())


@pytest.mark.parametrize("sigma", ["300m", "5deg"], ids=["tiles", "moments"])
def test_a_table_that_is_overwritten_meanwhile(spark, tables, tmp_path, sigma):
    """Files of the same names and sizes, so that Spark itself does not notice."""

    def write(table):
        path = tmp_path / "rows"
        path.mkdir(exist_ok=True)
        pq.write_table(table, path / "part.parquet", compression="none", use_dictionary=False, write_statistics=False)
        return (path / "part.parquet").stat().st_size

    test = tables[0]
    size = write(test)
    frame = spark.read.parquet(str(tmp_path / "rows"))
    smoothed = geosmooth.spark.smooth(frame, prediction="model", sigma=sigma, c=0.8, certificate=True)
    later = replaced(test, "model", pa.array(values(test, "model") + np.random.default_rng(0).normal(0, 1, len(test))))
    assert write(later) == size
    raised(smoothed.collect)


@pytest.mark.parametrize("sigma", ["2km", "5deg"], ids=["tiles", "moments"])
def test_tuning_on_rows_that_change(spark, tables, monkeypatch, tmp_path, sigma):
    """Rows are scored by their truth too, which is no source."""
    if sigma == "5deg":
        monkeypatch.setattr(_jobs, "MULTIPLICATIONS_PER_COPY", 1e9)
    marker = tmp_path / "check"
    check, train = frames_of(spark, tables, [marker, tmp_path / "train"])
    real = _tune.job

    def changed(*given):
        made = real(*given)
        marker.write_text("another label")
        return made

    monkeypatch.setattr(_tune, "job", changed)
    with pytest.raises(ValueError, match=COMPLAINT):
        geosmooth.spark.tune(check, train, label="price", prediction="model", sigma_grid=[sigma])


def test_groups_that_change(spark, tables, tmp_path):
    """Two groups that change their names are two groups as before, but their rows belong to others."""
    marker = tmp_path / "changed"
    test = spark.createDataFrame(tables[0].append_column("market", pa.array(np.where(np.arange(9000) % 3 == 0, "few", "many"))))

    def work(batches):
        for batch in batches:
            if marker.exists():
                other = pc.if_else(pc.equal(batch["id"], 7), pa.scalar("few"), batch["market"])
                batch = batch.set_column(batch.schema.get_field_index("market"), "market", other)
            yield batch

    smoothed = geosmooth.spark.smooth(test.mapInArrow(work, test.schema), prediction="model", sigma="20km", c=1, group="market")
    marker.touch()
    raised(smoothed.collect)


def test_a_number_of_tasks_that_is_none():
    """As on Databricks."""
    for said, expected in (("auto", USUAL_TASKS), ("8", 8), (None, USUAL_TASKS), ("0", USUAL_TASKS)):
        session = SimpleNamespace(conf=SimpleNamespace(get=lambda name, usual, said=said: said or usual))
        assert tasks(session) == expected


def test_units_of_sigma_are_mixed(spark, tables):
    """Refused with the words of the command."""
    frames = [spark.createDataFrame(table[:50]) for table in tables]
    for grid in (["500m", "0.01deg"], ["0.01deg", "2km", "500m"]):
        asked = {"label": "price", "prediction": "model", "sigma_grid": grid}
        with pytest.raises(ValueError, match="has a unit of another kind than") as expected:
            geosmooth.tune(*(table[:50] for table in tables), **asked)
        with pytest.raises(ValueError) as found:
            geosmooth.spark.tune(*frames, **asked)
        assert str(found.value) == str(expected.value)
