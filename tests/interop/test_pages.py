"""The pages of `--report`, opened in headless Chromium: no errors, maps are drawn, and plots exist."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import numpy as np
import pytest

import browser
from country import Country

needs_chromium = pytest.mark.skipif(browser.find_chromium() is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def country(tmp_path_factory):
    return Country(tmp_path_factory.mktemp("country"))


def flags(country, subcommand):
    """Valid arguments of each subcommand that writes a page."""
    train = ["--train", country.paths["train"], "--label", "price", "--prediction", "xgb"]
    validation, test = (["--" + name, country.paths[name]] for name in ("validation", "test"))
    return {
        "tune": [*train, *validation, "--train-prediction", "xgb_oof"],
        "smooth": [*train, *test, "--sigma", "500m", "--c", "0.5", "-o", country.paths["test"].parent / "out.parquet"],
        "compare": [*train, *test, "--sigma", "500m"],
        "diagnose": [*train, *validation, "--sigma", "500m"],
    }[subcommand]


FIGURES = {
    "tune": {"score-by-sigma", "score-by-sigma-and-c", "values", "errors", "predicted-against-true", "variogram"},
    "smooth": {"values", "errors", "predicted-against-true", "variogram"},
    "compare": {"errors-sparse", "errors-fast"},
    "diagnose": {"errors", "variogram", "effective-sources"},
}


@pytest.mark.parametrize("subcommand", FIGURES)
def test_pages_hold_their_figures_and_load_nothing(geosmooth, country, tmp_path, subcommand):
    folder = tmp_path / "page"
    process = geosmooth(subcommand, *flags(country, subcommand), "--report", folder, "--overwrite", "--json")
    assert process.returncode == 0, process.stderr
    json.loads(process.stdout)
    assert {path.stem for path in folder.glob("*.svg")} == FIGURES[subcommand]
    page = (folder / "index.html").read_text()
    assert not re.search(r"(src|href)=.?https?:", page)
    said = re.findall(r"<(?:h1|h2|h3|p)\b[^>]*>(.*?)</", page)
    assert len(said) > 3 and len(said) == len(set(said)), said
    assert sorted(path.name for path in folder.iterdir()) == sorted([f"{name}.svg" for name in FIGURES[subcommand]] + ["index.html"])


FACTS_OUT_OF_SIGHT = """
[...document.querySelectorAll(".scroll")].filter(box => box.querySelector("tr").children.length == 2 && box.scrollWidth > box.clientWidth).length
"""


@needs_chromium
@pytest.mark.parametrize("subcommand", FIGURES)
def test_pages_open_without_a_complaint(geosmooth, country, tmp_path, subcommand):
    process = geosmooth(subcommand, *flags(country, subcommand), "--report", tmp_path / "page", "--overwrite")
    assert process.returncode == 0, process.stderr
    with browser.tab(tmp_path / "page" / "index.html", width=390) as page:
        dom = page.dom()
        assert page.run(FACTS_OUT_OF_SIGHT) == 0
        assert page.console == []
    drawn = [int(count) for count in re.findall(r'data-drawn="(\d+)"', dom)]
    maps = sum(2 for name in FIGURES[subcommand] if name in ("values", "errors"))
    assert len(drawn) == maps and all(count > 100 for count in drawn), drawn
    assert dom.count("<svg") >= len(FIGURES[subcommand]) - maps // 2


@needs_chromium
def test_hostile_names_stay_text(geosmooth, tmp_path):
    """Column names that are HTML, on an index of one column."""
    name = "</script><script>document.title='broken'</script>&\"'"
    rng = np.random.default_rng(1)
    rows = pa.table({"frame": np.arange(50.0), "truth": rng.normal(0, 1, 50), name: rng.normal(0, 1, 50)})
    pq.write_table(rows, tmp_path / "test.parquet")
    columns = ["--test", tmp_path / "test.parquet", "--label", "truth", "--prediction", name, "--index", "frame"]
    process = geosmooth("smooth", *columns, "--sigma", "3", "--c", "0.5", "-o", tmp_path / "out.parquet", "--report", tmp_path / "page")
    assert process.returncode == 0, process.stderr
    dom, console = browser.open_page(tmp_path / "page" / "index.html")
    assert console == [] and "<title>broken" not in dom


def test_an_existing_page_is_kept(geosmooth, country, tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    process = geosmooth("diagnose", *flags(country, "diagnose"), "--report", folder)
    assert process.returncode == 2 and "index.html" in process.stderr and "--overwrite" in process.stderr
    assert (folder / "index.html").read_text() == "mine" and len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made(geosmooth, country, tmp_path):
    (tmp_path / "file").write_text("in the way")
    process = geosmooth("diagnose", *flags(country, "diagnose"), "--report", tmp_path / "file" / "page")
    assert process.returncode == 1 and "cannot make the folder" in process.stderr
