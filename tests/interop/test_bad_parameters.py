"""Flags with invalid, extreme or contradictory values. Numbers as in the list of bad inputs."""

import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from damage import assert_explained, refused, run, temporary_files, written
from sample import Reference, column, test_rows, train_rows

ENGINES = pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])

NO_SIGMA = ["0m", "0", "-5m", "-5", "-0.0km", "nan", "NaNm", "inf", "infkm", "-infm", "1e-400m", "1e400m", "5 parsecs", "500ft", "500M", "m", "", " ", "500 500m", "5,5km", "0x10m"]  # fmt: skip


@pytest.mark.parametrize("sigma", NO_SIGMA)
def test_51_sigma_is_no_length(refused, written, sigma):
    refused("sigma", f"'{sigma}'", test=written(test_rows(20)), sigma=sigma, hint="500m")


@pytest.mark.parametrize("sigma", ["500", "0.01", "1e3"])
def test_51_sigma_without_a_unit(refused, written, sigma):
    refused("sigma", f"{float(sigma):g}", test=written(test_rows(20)), sigma=sigma, hint="500m")


@pytest.mark.parametrize("sigma", ["500m", "0.01deg"])
def test_51_sigma_with_a_unit_for_index_columns(refused, written, sigma):
    refused("sigma", sigma, "index", test=written(test_rows(20)), index="id", sigma=sigma, hint="--sigma 500")


@ENGINES
def test_52_sigma_of_a_nanometre(smooth, written, engine):
    """No row has a neighbour: every prediction is unchanged."""
    test = test_rows()
    smoothed = pq.read_table(smooth(written(test), sigma="1e-9m", engine=engine))["xgb_smoothed"].to_numpy()
    assert abs(smoothed - column(test, "xgb")).max() <= 1e-12 * np.ptp(column(test, "xgb"))


@ENGINES
def test_52_sigma_of_a_million_kilometres(smooth, written, engine):
    """All rows are neighbours, even antipodes: every prediction becomes the mean."""
    rng = np.random.default_rng(12)
    test = test_rows()
    for name, limit in (("latitude", 90), ("longitude", 180)):
        test = test.set_column(test.schema.get_field_index(name), name, [rng.uniform(-limit, limit, 150)])
    out = smooth(written(test), sigma="1e9m", engine=engine)
    reference = Reference(test, sigma="1e9m")
    assert np.ptp(reference.smoothed) <= 1e-3 * reference.range
    reference.assert_close(out, 1e-6)


@pytest.mark.parametrize(("tolerance", "said"), [
    ("0", "is 0,"), ("-1", "is -1,"), ("-1e-6", "is -"), ("1e-17", "1e-12"), ("1e-13", "1e-12"), ("2", "is 2,"), ("1.0001", "is 1.0001,"), ("nan", "is NaN,"), ("inf", "is inf,"), ("tiny", "'tiny'"),
])  # fmt: skip
def test_53_tolerance(refused, written, tolerance, said):
    refused("tolerance", said, test=written(test_rows(20)), tolerance=tolerance)


@pytest.mark.parametrize(("cutoff", "said"), [
    ("0", "is 0,"), ("-3", "is -3,"), ("nan", "is NaN,"), ("inf", "is inf,"), ("1e9", "is 1"), ("three", "'three'"),
])  # fmt: skip
def test_53_cutoff(refused, written, cutoff, said):
    refused("cutoff", said, test=written(test_rows(20)), cutoff=cutoff)


@pytest.mark.parametrize("tolerance", ["1e-12", "1"])
def test_53_the_ends_of_the_tolerance(smooth, written, tolerance):
    test, train = test_rows(), train_rows()
    out = smooth(written(test), written(train, "train.parquet"), tolerance=tolerance, engine="sparse")
    Reference(test, train).assert_close(out, float(tolerance) + 1e-13)


@pytest.mark.parametrize(("c", "said"), [
    ("-0.1", "c is -0.1,"), ("1.1", "c is 1.1,"), ("-1e-300", "c is -"), ("1.0000000000000002", "c is 1.0000000000000002,"), ("nan", "c is NaN,"), ("inf", "c is inf,"), ("-inf", "c is -inf,"), ("half", "'half' for '--c"), ("", "'' for '--c"), ("50%", "'50%' for '--c"),
])  # fmt: skip
def test_54_c_outside(refused, written, c, said):
    refused(said, test=written(test_rows(20)), c=c)


@pytest.mark.parametrize("c", ["0", "-0.0", "1"])
def test_54_the_ends_of_c(smooth, written, c):
    test = test_rows()
    out = smooth(written(test), c=c)
    if float(c) == 0:
        assert pq.read_table(out)["xgb_smoothed"].to_pylist() == test["xgb"].to_pylist()
    else:
        Reference(test).assert_close(out, 1e-6)


@pytest.mark.parametrize("threads", ["0", "1000000", "-1", "1.5", "all", "99999999999999999999999"])
def test_55_threads(refused, written, threads):
    refused("--threads", threads, test=written(test_rows(20)), threads=threads)


def test_55_many_threads_on_few_rows(smooth, written):
    Reference(test_rows()).assert_close(smooth(written(test_rows()), threads=64), 1e-6)


@pytest.mark.parametrize("limit", ["1B", "10KB", "1KiB"])
def test_56_memory_for_the_rows(refused, written, limit):
    refused("needs about", "the memory limit leaves", test=written(test_rows()), memory_limit=limit, hint="--memory-limit")


@pytest.mark.parametrize("flags", [{}, {"matrix": "matrix.parquet"}])
def test_56_memory_for_the_matrix(refused, written, tmp_path, flags):
    """Memory for the rows, but not for a matrix of all pairs."""
    flags = {name: tmp_path / file for name, file in flags.items()}
    said = ("weight matrix", "needs about", "MiB", "the memory limit leaves")
    refused(*said, test=written(test_rows(3000)), engine="sparse", sigma="50km", memory_limit="2MB", hint="--engine fast", **flags)
    assert not (tmp_path / "matrix.parquet").exists()


@pytest.mark.parametrize("engine", ["auto", "sparse"])
def test_56_memory_for_a_matrix_that_was_asked_for_by_a_cutoff(binary, written, tmp_path, engine):
    """Another engine has no cutoff: the hint must not suggest one (issue 15)."""
    flags = {"test": written(test_rows(3000)), "output": tmp_path / "out.parquet", "sigma": "50km", "cutoff": 3, "engine": engine, "memory_limit": "2MB"}
    process = run(binary, flags)
    assert_explained(process, 2, ["weight matrix", "needs about"], "smaller --cutoff")
    assert b"--engine fast" not in process.stderr and b"--tolerance" in process.stderr


def test_56_without_a_matrix_less_is_enough(smooth, written):
    test = test_rows(3000)
    out = smooth(written(test), sigma="50km", memory_limit="2MB")
    Reference(test, sigma="50km").assert_close(out, 1e-6)


@pytest.mark.parametrize("limit", ["0", "-1GB", "lots", "1XB", "nan", "infGB", ""])
def test_56_memory_that_is_none(refused, written, limit):
    refused("--memory-limit", limit, test=written(test_rows(20)), memory_limit=limit)


CONTRADICTIONS = {
    "lat and index": ({"lat": "latitude", "lon": "longitude", "index": "id"}, ["--lat", "--index"]),
    "lat and geometry": ({"lat": "latitude", "lon": "longitude", "geometry": "id"}, ["--lat", "--geometry"]),
    "lon and index": ({"lon": "longitude", "index": "id", "sigma": 5}, ["--lon"]),
    "lon and geometry": ({"lon": "longitude", "geometry": "id"}, ["--lon"]),
    "lat without lon": ({"lat": "latitude"}, ["--lon"]),
    "lon without lat": ({"lon": "longitude"}, ["--lat"]),
    "geometry and index": ({"geometry": "id", "index": "id"}, ["--geometry", "--index"]),
    "cutoff and tolerance": ({"cutoff": 3, "tolerance": 1e-3}, ["--cutoff", "--tolerance"]),
    "exact and matrix": ({"engine": "exact", "matrix": "m.parquet"}, ["--matrix", "exact"]),
    "fast and matrix": ({"engine": "fast", "matrix": "m.parquet"}, ["--matrix", "fast"]),
    "fast and cutoff": ({"engine": "fast", "cutoff": 3}, ["cutoff", "fast"]),
    "auto and matrix": ({"matrix": "m.parquet"}, ["--matrix", "auto"]),
    "train without label": ({"train": "train.parquet"}, ["--label"]),
    "a prediction twice": ({"prediction": "xgb,xgb"}, ["--prediction", "'xgb'"]),
    "four index columns": ({"index": "id,xgb,latitude,longitude", "sigma": 5}, ["index columns", "4"]),
    "an unknown engine": ({"engine": "warp"}, ["warp"]),
    "an unknown way": ({"on_invalid": "guess"}, ["guess"]),
    "no prediction": ({"prediction": None}, ["--prediction"]),
    "no sigma": ({"sigma": None}, ["--sigma"]),
    "no c": ({"c": None}, ["--c"]),
    "a misspelt flag": ({"predictoin": "xgb"}, ["--predictoin"]),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_57_contradictions(refused, written, case, tmp_path):
    flags, said = CONTRADICTIONS[case]
    for name, content in {"train": train_rows(20), "matrix": None}.items():
        if name in flags:
            flags = flags | {name: written(content, flags[name]) if content else tmp_path / flags[name]}
    refused(*said, **{"test": written(test_rows(20))} | flags)
    assert not (tmp_path / "m.parquet").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_57_matrix_and_output_are_one_file(binary, written, tmp_path, overwrite):
    flags = {"test": written(test_rows(20)), "output": tmp_path / "one.parquet", "matrix": tmp_path / "one.parquet", "engine": "sparse"}
    flags |= {"overwrite": True} if overwrite else {}
    assert_explained(run(binary, flags), 2, ["one.parquet"])
    assert not (tmp_path / "one.parquet").exists() and temporary_files(tmp_path) == []


def test_58_paths_that_are_not_utf8(binary, written, tmp_path):
    test, out = (bytes(tmp_path) + b"/" + name for name in (b"t\xff\xfe.parquet", b"o\xc3.parquet"))
    os.rename(written(test_rows()), test)
    process = run(binary, {"test": test, "output": out})
    assert process.returncode == 0, process.stderr
    with open(out, "rb") as file:
        Reference(test_rows()).assert_close(file, 1e-6)


def test_58_a_missing_path_that_is_not_utf8(refused, tmp_path):
    refused("cannot read", ".parquet", code=1, test=bytes(tmp_path) + b"/missing\xff.parquet")


@pytest.mark.parametrize("flag", ["prediction", "label", "lat", "group", "index", "sigma", "c", "engine", "threads", "memory_limit"])
def test_58_values_that_are_not_utf8(refused, written, flag):
    refused("UTF-8", test=written(test_rows(20)), hint="UTF-8", **{flag: b"x\xffb"})


def test_58_a_flag_that_is_not_utf8(binary, written, tmp_path):
    process = run(binary, {"test": written(test_rows(20)), "output": tmp_path / "out.parquet"}, b"--\xff\xfe")
    assert_explained(process, 2, ["--"])
    assert not (tmp_path / "out.parquet").exists()
