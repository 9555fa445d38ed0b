"""`geosmooth reproduce` at small size: complete folders, the same bytes for the same seed, scores as in numpy, errors on one line."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import browser

SMALL = {
    "simulation": ["--rows", 200, "--trials", 2, "--noise-x", "0.5,1", "--noise-y", 0.1],
    "housing": ["--rows", 200, "--trials", 2, "--compared", 1],
    "extrapolation": ["--rows", 200, "--trials", 2],
    "sizes": ["--rows", "100,200", "--trials", 2],
    "pose": ["--videos", 2, "--frames", 20],
}
FIGURES = {
    "simulation": {"errors-noise-0-1", "one-draw"},
    "housing": {"models", "methods"},
    "extrapolation": {"extrapolation"},
    "sizes": {"gain-predictions-only", "gain-with-labels"},
    "pose": {"pck-per-frame", "pck-temporal"},
}
TABLES = {
    "simulation": {"Mean-squared-errors", "Measured-and-expected"},
    "housing": {"Models", "Methods"},
    "extrapolation": {"Extrapolation"},
    "sizes": {"Gains"},
    "pose": {"Holdout-videos"},
}


@pytest.fixture(scope="module")
def folders(geosmooth, tmp_path_factory):
    """Every experiment at small size, on one thread."""
    root = tmp_path_factory.mktemp("reproduced")
    for name, flags in SMALL.items():
        process = geosmooth("reproduce", name, *flags, "--out", root / name, "--threads", 1)
        assert process.returncode == 0, process.stderr
        assert process.stderr == "" and str(root / name / "index.html") in process.stdout
    return root


@pytest.mark.parametrize("experiment", SMALL)
def test_folders_are_whole(folders, experiment):
    folder = folders / experiment
    expected = {f"{name}.svg" for name in FIGURES[experiment]} | {f"{name}.csv" for name in TABLES[experiment]}
    assert {path.name for path in folder.iterdir()} == expected | {"index.html", "results.json", "tables.md"}
    markdown = (folder / "tables.md").read_text()
    for name in TABLES[experiment]:
        rows = list(csv.reader((folder / f"{name}.csv").open()))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1
        assert all(" | ".join(row) in markdown for row in rows)
    json.loads((folder / "results.json").read_text(), parse_constant=lambda text: pytest.fail(text))


@pytest.mark.parametrize("experiment", SMALL)
def test_a_seed_decides_whatever_the_threads(geosmooth, folders, tmp_path, experiment):
    def results(name, *flags):
        process = geosmooth("reproduce", experiment, *SMALL[experiment], "--out", tmp_path / name, "--json", *flags)
        assert process.returncode == 0, process.stderr
        assert (tmp_path / name / "results.json").read_text() == process.stdout
        return process.stdout

    results("again", "--threads", 2)
    # The seconds of methods differ from run to run, and so do their tables.
    timed = {"index.html", "tables.md", "Methods.csv"} if experiment == "housing" else set()
    for path in (folders / experiment).iterdir():
        assert path.name in timed or path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    assert results("other", "--seed", 7) != (folders / experiment / "results.json").read_text()


@pytest.mark.skipif(browser.find_chromium() is None, reason="there is no Chromium")
@pytest.mark.parametrize("experiment", SMALL)
def test_pages_open_without_a_complaint(folders, experiment):
    dom, console = browser.open_page(folders / experiment / "index.html")
    assert console == [] and dom.count("<svg") == len(FIGURES[experiment])
    with browser.tab(folders / experiment / "index.html", width=390, height=844) as page:
        assert page.run("document.documentElement.scrollWidth") <= 390


def homes(folder, n=600):
    """Sales with numbers, a date, a category and a null; prices depend on a field over space."""
    rng = np.random.default_rng(3)
    lat, lon = 41 + rng.uniform(0, 0.2, n), -83 + rng.uniform(0, 0.2, n)
    size, kind = rng.uniform(500, 3000, n), rng.choice(["brick", "wood"], n)
    price = np.log1p(size) + 0.5 * (kind == "brick") + np.sin(60 * lat) + rng.normal(0, 0.05, n)
    days = pa.array(rng.integers(9000, 10000, n).astype("int32"), pa.int32()).cast(pa.date32())
    sizes = pa.array([None if row == 5 else value for row, value in enumerate(size)])
    table = pa.table({"lat": lat, "lng": lon, "size": sizes, "kind": kind, "sold": days, "price": price, "row": np.arange(n)})
    path = folder / "sales.parquet"
    pq.write_table(table, path)
    return path


DATA = ["--label", "price", "--features", "log(size),kind,sold", "--trials", 2, "--rows", 150]


def test_any_parquet_with_prices(geosmooth, tmp_path):
    flags = ["--data", homes(tmp_path), *DATA, "--compared", 0, "--on-invalid", "skip", "--json", "--out", tmp_path / "out"]
    process = geosmooth("reproduce", "housing", *flags)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert results["homes"] == 599 and results["methods"] == []
    for model in results["models"]:
        unsmoothed, _, labels = (way["score"]["mean"] for way in model["ways"])
        assert labels > unsmoothed + 0.1
        gains = [trial["with_labels"]["holdout"] - trial["unsmoothed"]["holdout"] for trial in model["trials"]]
        assert np.isclose(model["ways"][2]["gain"]["mean"], np.mean(gains))
    assert "see 5 columns" in (tmp_path / "out" / "index.html").read_text()  # log(size), two kinds, year and month


@pytest.mark.parametrize(
    "experiment, flags, words",
    [
        ("simulation", ["--trials", 0], "at least 1"),
        ("simulation", ["--noise-x", "-1"], "between 0.001 and 1000"),
        ("simulation", ["--rows", 3], "between 8 and 100000"),
        ("simulation", ["--noise-y", "loud"], "--noise-y"),
        ("housing", ["--rows", 9000], "three sets of 9000"),
        ("housing", ["--trials", 0], "at least 1"),
        ("housing", ["--label", "price"], "--data"),
        ("extrapolation", ["--latitude", 80], "--latitude"),
        ("sizes", ["--rows", "100,90000"], "three sets of 90000"),
        ("pose", ["--videos", 0], "videos of 3 frames"),
        ("pose", ["--validation", "x.parquet"], "--test"),
        ("poses", [], "pose"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(geosmooth, tmp_path, experiment, flags, words):
    process = geosmooth("reproduce", experiment, *flags, "--out", tmp_path / "out")
    error, hint = process.stderr.splitlines()
    assert process.returncode == 2 and error.startswith("error: ") and hint.startswith("hint: ")
    assert words in process.stderr


@pytest.mark.parametrize(
    "change, words",
    [
        ({}, "column 'size' is null at row 5"),
        ({"--features": "log(kind)"}, "is not a number"),
        ({"--features": "sizes"}, "did you mean 'size'?"),
        ({"--features": "price"}, "a feature too"),
        ({"--label": "sold", "--features": "kind"}, "is a date or time, not a number"),
        ({"--lat": "size", "--lon": "lng"}, "size"),
    ],
)
def test_bad_columns(geosmooth, tmp_path, change, words):
    flags = dict(zip(DATA[::2], DATA[1::2])) | {"--data": homes(tmp_path), "--out": tmp_path / "out"} | change
    process = geosmooth("reproduce", "housing", *[part for pair in flags.items() for part in pair])
    error, hint = process.stderr.splitlines()
    assert process.returncode == 2 and error.startswith("error: ") and hint.startswith("hint: ")
    assert words in process.stderr and not (tmp_path / "out" / "index.html").exists()


def test_an_existing_page_is_kept(geosmooth, folders):
    page = (folders / "pose" / "index.html").read_bytes()
    process = geosmooth("reproduce", "pose", *SMALL["pose"], "--seed", 3, "--out", folders / "pose")
    assert process.returncode == 2 and "--overwrite" in process.stderr
    assert (folders / "pose" / "index.html").read_bytes() == page
