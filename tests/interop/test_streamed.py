"""More rows than `--memory-limit` holds: smoothed tile by tile or by their moments, as if all had been there at once."""

import json
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from conftest import as_arguments
from damage import assert_explained, run

LIMIT = "64MiB"
TEST, TRAIN = 400_000, 200_000


def rows(n, value, seed, centre=(40.0, -84.0)):
    """Towns of very different sizes, and rows between them."""
    rng = np.random.default_rng(seed)
    towns = np.random.default_rng(1).normal(0.0, 2.0, (40, 2))
    town = rng.choice(40, n, p=(weights := 1.0 / np.arange(1, 41)) / weights.sum())
    place = towns[town] + rng.normal(0.0, 0.03, (n, 2)) + (rng.random((n, 1)) < 0.05) * rng.normal(0.0, 1.0, (n, 2))
    longitude = (place[:, 1] + centre[1] + 180.0) % 360.0 - 180.0
    return pa.table({
        "id": pa.array(np.arange(n)),
        "latitude": place[:, 0] + centre[0],
        "longitude": longitude,
        value: 100.0 + 10.0 * rng.standard_normal(n),
        "market": pa.array(rng.choice(["a", "b", "c"], n)).dictionary_encode(),
    })


@pytest.fixture(scope="session")
def country(tmp_path_factory):
    folder = tmp_path_factory.mktemp("country")
    test = rows(TEST, "model", 2).append_column("price", pa.array(np.random.default_rng(9).normal(100.0, 10.0, TEST)))
    pq.write_table(test, folder / "test.parquet", row_group_size=70_000)
    pq.write_table(rows(TRAIN, "price", 3), folder / "train.parquet")
    return folder


def smooth(binary, out, **flags):
    """The report and the output of a run."""
    flags = flags | {"output": out, "json": True}
    process = subprocess.run([binary, "smooth", *map(str, as_arguments(flags))], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout), pq.read_table(out)


@pytest.fixture
def smoothed(binary, country, tmp_path):
    """The report and the output of a run, with and without the limit."""

    def smooth_country(limit=None, **flags):
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}.parquet"
        usual = {"test": country / "test.parquet", "train": country / "train.parquet", "label": "price", "prediction": "model", "c": 0.7, "sigma": "500m"}
        return smooth(binary, out, **usual | ({"memory_limit": limit} if limit else {}) | flags)

    return smooth_country


def assert_same(streamed, whole, tolerance=1e-6, by="tiles"):
    (report, found), (whole_report, wanted) = streamed, whole
    assert report["streamed"]["by"] == by and "streamed" not in whole_report
    assert by == "moments" or report["streamed"]["tiles"] > 1
    assert report["error_bound"]["max"] <= tolerance
    assert found.schema.equals(wanted.schema, check_metadata=True)
    untouched = [table.drop_columns("model_smoothed").to_pandas() for table in (found, wanted)]
    assert untouched[0].equals(untouched[1])
    a, b = (table["model_smoothed"].to_numpy() for table in (found, wanted))
    assert (np.isnan(a) == np.isnan(b)).all()
    both = [report["error_bound"]["max"] + whole_report["error_bound"]["max"], 2 * tolerance]
    assert np.nanmax(np.abs(a - b)) <= min(both) * 140.0


FLAGS = {
    "metres": {},
    "degrees": {"sigma": "0.005deg"},
    "index": {"sigma": "0.02", "index": "latitude,longitude"},
    "groups": {"group": "market", "sigma": "2km"},
    "heavy labels": {"label_weight": 30},
    "tight": {"tolerance": 1e-10, "sigma": "100m"},
}


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_tiles_are_the_whole(smoothed, flags):
    streamed = smoothed(LIMIT, **flags)
    assert_same(streamed, smoothed(**flags), flags.get("tolerance", 1e-6))
    assert streamed[0]["peak_memory_bytes"] <= (64 << 20) + (30 << 20)


WIDE = {
    "metres": {"sigma": "60km"},
    "degrees": {"sigma": "1deg"},
    "far beyond everything": {"sigma": "1000deg"},
    "index": {"sigma": "0.7", "index": "latitude,longitude"},
    "one axis": {"sigma": "0.5", "index": "latitude"},
    "groups": {"group": "market", "sigma": "2deg"},
    "heavy labels": {"label_weight": 30, "sigma": "0.8deg"},
    "tight": {"tolerance": 1e-9, "sigma": "1deg"},
}


@pytest.mark.parametrize("flags", WIDE.values(), ids=WIDE)
def test_moments_are_the_whole(smoothed, flags):
    streamed = smoothed(LIMIT, **flags)
    assert_same(streamed, smoothed(**flags), flags.get("tolerance", 1e-6), by="moments")
    assert streamed[0]["peak_memory_bytes"] <= (64 << 20) + (30 << 20)


SIGMAS = pytest.mark.parametrize("sigma", ["500m", "1deg"], ids=["tiles", "moments"])


@SIGMAS
def test_scores_are_those_of_the_whole(smoothed, sigma):
    (streamed, _), (whole, _) = smoothed(LIMIT, sigma=sigma), smoothed(sigma=sigma)
    for when in ("before", "after"):
        found, wanted = streamed["scores"][0][when], whole["scores"][0][when]
        assert found == pytest.approx(wanted, rel=1e-4)
        assert found["r2"] == pytest.approx(wanted["r2"], rel=1e-7)


@SIGMAS
def test_certificates(smoothed, sigma):
    (_, found), (_, wanted) = (smoothed(limit, certificate=True, sigma=sigma) for limit in (LIMIT, None))
    assert pc.max(found["model_error_bound"]).as_py() <= 1e-6 * 140.0
    np.testing.assert_allclose(found["n_effective"], wanted["n_effective"], rtol=1e-4)


@SIGMAS
def test_the_same_bits_for_any_number_of_threads(smoothed, sigma):
    assert smoothed(LIMIT, threads=1, sigma=sigma)[1].equals(smoothed(LIMIT, threads=3, sigma=sigma)[1])


@pytest.mark.parametrize("sigma", ["100m", "0.002deg"])
def test_rows_in_cells_of_their_own_stay_within_the_limit(binary, country, tmp_path, sigma):
    """Spread out evenly: hardly two rows share a cell."""
    table, rng = pq.read_table(country / "test.parquet"), np.random.default_rng(6)
    for name, low in [("latitude", 40.0), ("longitude", -85.0)]:
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(rng.uniform(low, low + 2.0, TEST)))
    pq.write_table(table, tmp_path / "even.parquet")
    report, found = smooth(binary, tmp_path / "out.parquet", test=tmp_path / "even.parquet", prediction="model", c=0.7, sigma=sigma, memory_limit=LIMIT)
    assert report["streamed"]["tiles"] > 1 and found["model_smoothed"].null_count == 0
    assert report["peak_memory_bytes"] <= (64 << 20) + (30 << 20)


def test_many_columns_stay_within_the_limit(binary, country, tmp_path):
    """Eight predictions with their certificates: seventeen new columns."""
    table, names = pq.read_table(country / "test.parquet"), [f"model {number}" for number in range(8)]
    for number, name in enumerate(names):
        table = table.append_column(name, pc.add(table["model"], float(number)))
    pq.write_table(table, tmp_path / "wide.parquet", row_group_size=50_000)
    report, found = smooth(binary, tmp_path / "out.parquet", test=tmp_path / "wide.parquet", train=country / "train.parquet", label="price",
                           prediction=",".join(names), c=0.7, sigma="500m", memory_limit="96MiB", certificate=True)
    assert report["streamed"]["tiles"] > 1 and report["peak_memory_bytes"] <= (96 << 20) + (30 << 20)
    for name in names:
        assert pc.max(found[f"{name}_error_bound"]).as_py() <= report["error_bound"]["max"] * 150.0


@SIGMAS
def test_rows_that_are_skipped(binary, smoothed, country, tmp_path, sigma):
    table = pq.read_table(country / "test.parquet")
    broken = table["model"].to_numpy().copy()
    broken[250_000] = np.inf
    missing = np.isin(np.arange(TEST), [5, 399_999])
    table = table.set_column(table.schema.get_field_index("model"), "model", pa.array(broken, mask=missing))
    pq.write_table(table, tmp_path / "broken.parquet")
    flags = {"test": tmp_path / "broken.parquet", "on_invalid": "skip", "sigma": sigma}
    streamed = smoothed(LIMIT, **flags)
    assert streamed[0]["rows"]["skipped"] == 3 and streamed[1]["model_smoothed"].null_count == 3
    assert_same(streamed, smoothed(**flags), by=streamed[0]["streamed"]["by"])
    refused = run(binary, {"test": tmp_path / "broken.parquet", "train": country / "train.parquet", "label": "price", "prediction": "model",
                           "sigma": sigma, "memory_limit": LIMIT, "output": tmp_path / "no.parquet"})
    assert_explained(refused, 2, ["'model'", "at row 5", "3 such rows in all"], "--on-invalid")


@pytest.mark.parametrize("sigma, by", [("3km", "tiles"), ("100km", "moments")])
def test_across_the_date_line(tmp_path, smoothed, sigma, by):
    table = rows(TEST, "model", 4, centre=(65.0, 179.9))
    pq.write_table(table, tmp_path / "east.parquet")
    flags = {"test": tmp_path / "east.parquet", "sigma": sigma}
    assert_same(smoothed(LIMIT, **flags), smoothed(**flags), by=by)


def test_half_of_all_rows_at_one_place(tmp_path, smoothed):
    table = rows(TEST, "model", 5)
    at_one = np.where(np.arange(TEST) % 2 == 0, 40.0, table["latitude"].to_numpy())
    table = table.set_column(1, "latitude", pa.array(at_one))
    table = table.set_column(2, "longitude", pa.array(np.where(np.arange(TEST) % 2 == 0, -84.0, table["longitude"].to_numpy())))
    pq.write_table(table, tmp_path / "tower.parquet")
    flags = {"test": tmp_path / "tower.parquet"}
    assert_same(smoothed("96MiB", **flags), smoothed(**flags))


@pytest.fixture(scope="session")
def one_town(tmp_path_factory):
    """Two thirds of all rows within a few kilometres: more than a tile holds are within reach of one place."""
    folder = tmp_path_factory.mktemp("town")
    for name, value, n, seed in (("test", "model", TEST, 7), ("train", "price", TRAIN, 8)):
        rng = np.random.default_rng(seed)
        in_town = rng.random((n, 1)) < 0.66
        place = [40.0, -84.0] + np.where(in_town, rng.normal(0.0, 0.02, (n, 2)), rng.uniform(-4.0, 4.0, (n, 2)))
        table = pa.table({"latitude": place[:, 0], "longitude": place[:, 1], value: 100.0 + 10.0 * rng.standard_normal(n)})
        table = table.append_column("market", pa.array(rng.choice(["a", "b"], n, p=[0.9, 0.1])))
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=70_000)
    return folder


TILE_GROUPS = {
    "metres": {"sigma": "500m"},
    "narrow": {"sigma": "100m"},
    "degrees": {"sigma": "0.005deg"},
    "groups": {"sigma": "500m", "group": "market"},
    "heavy labels": {"sigma": "500m", "label_weight": 30},
}


@pytest.mark.parametrize("flags", TILE_GROUPS.values(), ids=TILE_GROUPS)
def test_tile_groups_are_the_whole(one_town, smoothed, flags):
    flags = flags | {"test": one_town / "test.parquet", "train": one_town / "train.parquet"}
    streamed = smoothed(LIMIT, **flags)
    assert streamed[0]["streamed"]["tile_groups"] >= 1
    assert_same(streamed, smoothed(**flags))
    assert streamed[0]["peak_memory_bytes"] <= (64 << 20) + (30 << 20)


def test_certificates_and_threads_of_tile_groups(one_town, smoothed):
    flags = {"test": one_town / "test.parquet", "train": one_town / "train.parquet", "certificate": True}
    (report, found), (_, again), (_, wanted) = smoothed(LIMIT, threads=1, **flags), smoothed(LIMIT, threads=3, **flags), smoothed(**flags)
    assert report["streamed"]["tile_groups"] >= 1 and found.equals(again)
    assert pc.max(found["model_error_bound"]).as_py() <= 1e-6 * 140.0
    np.testing.assert_allclose(found["n_effective"], wanted["n_effective"], rtol=1e-4)


def test_a_cutoff_has_no_tile_groups(binary, one_town, tmp_path):
    """Lattices know nothing of a cutoff."""
    flags = {"test": one_town / "test.parquet", "prediction": "model", "sigma": "500m", "cutoff": 7, "c": 1, "memory_limit": LIMIT, "output": tmp_path / "no.parquet"}
    assert_explained(run(binary, flags), 2, ["a tile with all rows that reach it"], "--memory-limit")


@pytest.mark.parametrize("engine", ["fast", "sparse", "exact"])
@pytest.mark.parametrize("each", [1, 2, 40])
def test_many_groups_stay_within_the_limit(binary, country, tmp_path, engine, each):
    """Issue 15: a plan for each of a million groups took six times the limit."""
    table = pq.read_table(country / "test.parquet").append_column("owner", pa.array(np.arange(TEST) // each))
    pq.write_table(table, tmp_path / "owners.parquet")
    flags = {"test": tmp_path / "owners.parquet", "prediction": "model", "c": 0.7, "sigma": "500m", "group": "owner", "engine": engine}
    report, found = smooth(binary, tmp_path / "out.parquet", **flags, memory_limit="256MiB")
    assert report["peak_memory_bytes"] <= (256 << 20) + (30 << 20)
    if each == 1:
        np.testing.assert_allclose(found["model_smoothed"], found["model"], rtol=1e-12)


@pytest.mark.parametrize("sigma", ["500m", "0.005deg"])
def test_no_more_is_demanded_than_it_takes(smoothed, sigma):
    """Issue 15: twice the peak was asked for, and all rows were read before that was known."""
    whole, _ = smoothed(sigma=sigma)
    report, _ = smoothed(str(whole["peak_memory_bytes"] * 13 // 10), sigma=sigma)
    assert "streamed" not in report


def test_what_needs_all_rows_together_is_refused(binary, country, tmp_path):
    flags = {"test": country / "test.parquet", "train": country / "train.parquet", "label": "price", "prediction": "model", "sigma": "500m",
             "memory_limit": LIMIT, "output": tmp_path / "no.parquet"}
    assert_explained(run(binary, flags | {"engine": "exact"}), 2, ["the memory limit leaves"], "--memory-limit")
    assert_explained(run(binary, flags | {"memory_limit": "10MiB"}), 2, ["the memory limit leaves"], "--memory-limit")
