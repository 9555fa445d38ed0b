"""Invalid requests to `tune`, `diagnose` and `smooth --params`: each gets a clear error and leaves no files behind."""

import json
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest

from country import Country
from damage import EARLIER, assert_explained, environment, temporary_files


@pytest.fixture
def country(tmp_path):
    return Country(tmp_path, (40, 40, 40))


@pytest.fixture
def refused(binary, country, tmp_path):
    """Expects that a subcommand refuses with a message that contains these words, and that an earlier output is unchanged."""

    def expect(subcommand, *names, hint="", **flags):
        defaults = {"train": country.paths["train"], "validation": country.paths["validation"], "label": "price", "prediction": "xgb"}
        flags = {name: value for name, value in (defaults | flags).items() if value is not None}
        arguments = [a for name, value in flags.items() for a in (["--" + name.replace("_", "-")] + ([] if value is True else [str(value)]))]
        output = tmp_path / "out.json"
        output.write_bytes(EARLIER)
        if subcommand == "tune":
            arguments += ["-o", output, "--overwrite"]
        process = subprocess.run([binary, subcommand, *arguments], capture_output=True, timeout=60, env=environment())
        assert_explained(process, 2, names, hint)
        assert output.read_bytes() == EARLIER and temporary_files(tmp_path) == []

    return expect


def changed(country, table, column, values):
    rows = country.tables[table]
    country.tables[table] = rows.set_column(rows.schema.get_field_index(column), column, [values])
    pq.write_table(country.tables[table], country.paths[table])


def test_label_column_missing(refused, country):
    refused("tune", "prize", "column", label="prize", hint="price")
    refused("tune", "--label is missing", label=None)
    rows = country.tables["validation"].drop_columns(["price"])
    pq.write_table(rows, country.paths["validation"])
    refused("tune", "validation.parquet", "price")


@pytest.mark.parametrize("grids", [{}, {"sigma_grid": "1km", "c_grid": "0,1"}])
def test_constant_labels(refused, country, grids):
    changed(country, "validation", "price", np.full(40, 3.0))
    refused("tune", "all labels", "R²", hint="--metric rmse", **grids)


def test_a_label_of_zero_has_no_relative_error(refused, country):
    changed(country, "validation", "price", np.r_[0.0, np.arange(39.0) + 1])
    refused("tune", "label is 0", metric="mape", hint="mae")


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_validation_rows(refused, country, rows):
    pq.write_table(country.tables["validation"].slice(0, rows), country.paths["validation"])
    refused("tune", "fewer than two rows", hint="--validation")


def test_empty_grids(refused):
    refused("tune", "sigma", "empty", sigma_grid="", hint="comma")
    refused("tune", "sigma", "empty", sigma_grid=" , ,", hint="comma")
    refused("tune", "list of values of c", "empty", c_grid=",")
    refused("tune", "label weight", "empty", label_weight="")


def test_values_out_of_range(refused):
    refused("tune", "c is 1.5", c_grid="0,1.5")
    refused("tune", "--c-grid", "'half'", c_grid="0,half")
    refused("tune", "label weight is -1", label_weight="-1")
    refused("tune", "label weight is inf", label_weight="inf")
    refused("tune", "sigma '0m'", sigma_grid="100m,0m")
    refused("tune", "sigma 5", "latitude and longitude", sigma_grid="5", hint="unit")
    refused("tune", "1deg", "100m", sigma_grid="100m,1deg", hint="one kind")
    refused("tune", "no sigma between", sigma_range="5km,20m")
    refused("tune", "not two lengths", sigma_range="5km")
    refused("tune", "metric", "'accuracy'", metric="accuracy", hint="r2")
    refused("tune", "engine", "'quantum'", engine="quantum")


def test_the_same_file_twice(refused, country):
    refused("tune", "train.parquet", "leak", validation=country.paths["train"], hint="--leave-one-out")


def test_ways_that_contradict_each_other(refused):
    refused("tune", "--validation is missing", validation=None, hint="--leave-one-out")
    refused("tune", "--train is missing", validation=None, train=None, leave_one_out=True)
    refused("tune", "--leave-one-out", leave_one_out=True)
    refused("tune", "--block", validation=None, folds=5)
    refused("tune", "too few for 5 folds", validation=None, folds=5, block="100km", hint="--block")
    refused("tune", "--block '0km'", validation=None, folds=5, block="0km", hint="5km")
    refused("tune", "--block '7'", validation=None, folds=5, block="7", hint="5km")
    refused("tune", "--train is missing", train=None, label_weight=5)
    refused("tune", "number of folds", validation=None, folds=1, block="1km")
    refused("tune", "2 predictions", "1 of them", prediction="xgb,ridge", train_prediction="xgb_oof", hint="one out-of-fold column")


def test_all_rows_at_one_place(refused, country):
    for table in ("train", "validation"):
        rows = country.tables[table]
        for name in ("latitude", "longitude"):
            rows = rows.set_column(rows.schema.get_field_index(name), name, [np.full(40, 41.0)])
        pq.write_table(rows, country.paths[table])
    refused("tune", "one place")


def test_bad_rows_are_named_or_skipped(refused, country, geosmooth):
    prices = country.column("validation", "price").copy()
    prices[7] = np.nan
    changed(country, "validation", "price", prices)
    refused("tune", "price", "NaN", "row 7", hint="--on-invalid skip")
    files = ["--train", country.paths["train"], "--validation", country.paths["validation"], "--label", "price", "--prediction", "xgb"]
    tuned = json.loads(geosmooth("tune", *files, "--on-invalid", "skip", "--json").stdout)
    assert tuned["rows"]["skipped"] == 1


GOOD = {"version": 1, "prediction": "xgb", "label": "price", "sigma": "500m", "c": 0.5, "label_weight": 2.0}
CORRECT = {"sigma": "1km", "shrink": 1.0, "train_prediction": "xgb_oof"}
DAMAGED = {
    "empty": ("", "not JSON"),
    "truncated": (json.dumps(GOOD)[:40], "not JSON"),
    "not an object": ("[1, 2]", "version"),
    "no version": (json.dumps({k: v for k, v in GOOD.items() if k != "version"}), "version"),
    "newer version": (json.dumps(GOOD | {"version": 2}), "version 2"),
    "version as text": (json.dumps(GOOD | {"version": "1"}), "version"),
    "field missing": (json.dumps({k: v for k, v in GOOD.items() if k != "sigma"}), "sigma"),
    "field unknown": (json.dumps(GOOD | {"sigmma": "5m"}), "sigmma"),
    "c out of range": (json.dumps(GOOD | {"c": 7}), "c is 7"),
    "c as text": (json.dumps(GOOD | {"c": "half"}), "half"),
    "sigma without length": (json.dumps(GOOD | {"sigma": "wide"}), "wide"),
    "label weight negative": (json.dumps(GOOD | {"label_weight": -1}), "label weight"),
    "shrink negative": (json.dumps(GOOD | {"correct": CORRECT | {"shrink": -1}}), "shrinkage"),
    "a number too large": (json.dumps(GOOD).replace("0.5", "1e999"), "not JSON"),
    "deep": ("[" * 100_000, "not JSON"),
}


# The last of two values was used without notice (issue 15).
TWICE = {
    "c": json.dumps(GOOD).replace('"c": 0.5', '"c": 0.5, "c": 0.9'),
    "version": json.dumps(GOOD).replace('"version": 1', '"version": 2, "version": 1'),
    "shrink": json.dumps(GOOD | {"correct": CORRECT}).replace('"shrink": 1.0', '"shrink": 5.0, "shrink": 1.0'),
    "rows": json.dumps(GOOD | {"provenance": {"rows": 1}}).replace('"rows": 1', '"rows": 1, "rows": 2'),
}


@pytest.mark.parametrize("key", TWICE)
def test_85_a_key_twice_in_parameters(binary, country, tmp_path, key):
    file = tmp_path / "tuned.json"
    file.write_text(TWICE[key])
    flags = ["--train", country.paths["train"], "--test", country.paths["test"], "--params", file, "-o", tmp_path / "out.parquet"]
    process = subprocess.run([binary, "smooth", *flags], capture_output=True, timeout=60, env=environment())
    assert_explained(process, 2, ["tuned.json", f"the key '{key}' twice"], "geosmooth tune")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("case", DAMAGED)
def test_59_a_damaged_file_of_parameters(binary, country, tmp_path, case):
    text, said = DAMAGED[case]
    file = tmp_path / "tuned.json"
    file.write_text(text)
    out = tmp_path / "out.parquet"
    flags = ["--train", country.paths["train"], "--test", country.paths["test"], "--params", file, "-o", out]
    process = subprocess.run([binary, "smooth", *flags], capture_output=True, timeout=60, env=environment())
    assert_explained(process, 2, ["tuned.json", said], "geosmooth tune")
    assert not out.exists()


def test_59_parameters_that_are_no_text_or_too_large(binary, country, tmp_path):
    file = tmp_path / "tuned.json"
    flags = ["--train", country.paths["train"], "--test", country.paths["test"], "--params", file, "-o", tmp_path / "out.parquet"]
    for content in (b"\xff\xfe\x00", b" " * 2_000_000):
        file.write_bytes(content)
        process = subprocess.run([binary, "smooth", *flags], capture_output=True, timeout=60, env=environment())
        assert_explained(process, 2, ["tuned.json"])
    file.unlink()
    process = subprocess.run([binary, "smooth", *flags], capture_output=True, timeout=60, env=environment())
    assert_explained(process, 1, ["tuned.json"])


def test_parameters_that_were_tuned_with_labels_need_them(binary, country, tmp_path):
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps(GOOD))
    flags = ["--test", country.paths["test"], "--params", file, "-o", tmp_path / "out.parquet"]
    process = subprocess.run([binary, "smooth", *flags], capture_output=True, timeout=60, env=environment())
    assert_explained(process, 2, ["--train is missing"], "--label-weight 0")
    process = subprocess.run([binary, "smooth", *flags, "--label-weight", "0", "-q"], capture_output=True, timeout=60, env=environment())
    assert process.returncode == 0, process.stderr
    other = subprocess.run([binary, "smooth", *flags, "--label-weight", "0", "--prediction", "ridge", "--overwrite"], capture_output=True, timeout=60)
    assert b"warning: the parameters were tuned for another prediction than 'ridge'" in other.stderr


def test_the_correct_step_without_what_it_needs(binary, country, tmp_path):
    base = ["--test", country.paths["test"], "--prediction", "xgb", "--sigma", "1km", "--c", "1", "-o", tmp_path / "out.parquet"]
    train = ["--train", country.paths["train"], "--label", "price"]
    for flags, said in [
        (["--correct-sigma", "1km"], "--train is missing"),
        ([*train, "--correct-sigma", "1km"], "--train-prediction is missing"),
        ([*train, "--train-prediction", "xgb_oof", "--correct-sigma", "0m"], "sigma '0m'"),
        ([*train, "--train-prediction", "xgb_oof", "--correct-sigma", "1km", "--correct-shrink", "-1"], "shrinkage"),
        ([*train, "--train-prediction", "nothing", "--correct-sigma", "1km"], "nothing"),
        ([*train, "--train-prediction", "xgb_oof,ridge_oof", "--correct-sigma", "1km"], "1 predictions, but 2"),
    ]:
        process = subprocess.run([binary, "smooth", *base, *flags], capture_output=True, timeout=60, env=environment())
        assert_explained(process, 2, [said])


def test_the_correct_step_of_another_prediction(binary, country, tmp_path):
    """Residuals of one model cannot be used for another."""
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps(GOOD | {"correct": CORRECT}))
    flags = ["--train", country.paths["train"], "--test", country.paths["test"], "--params", file, "-o", tmp_path / "out.parquet", "--overwrite"]
    other = ["--prediction", "ridge"]

    def run(*more):
        return subprocess.run([binary, "smooth", *flags, *more], capture_output=True, timeout=60, env=environment())

    refusal = run(*other)
    assert refusal.returncode == 2 and b"error: --train-prediction is missing" in refusal.stderr and b"--no-correct" in refusal.stderr
    assert run(*other, "--no-correct").returncode == 0
    assert run(*other, "--train-prediction", "ridge_oof").returncode == 0
    assert run().returncode == 0
    summary = json.loads(run("--correct-shrink", "3", "--json").stdout)
    assert summary["correct"] == {"sigma": "1000m", "shrink": 3}


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_values_too_extreme_to_score(refused, country, size):
    changed(country, "validation", "price", country.column("validation", "price") * size)
    refused("tune", "too extreme", hint="another unit")


@pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
def test_residuals_beyond_64_bits(binary, country, tmp_path, engine):
    changed(country, "train", "price", np.where(np.arange(40) % 2, 1.7e308, -1.7e308))
    changed(country, "train", "xgb_oof", np.where(np.arange(40) % 2, -1e308, 1e308))
    flags = ["--train", country.paths["train"], "--test", country.paths["test"], "--label", "price", "--prediction", "xgb"]
    correct = ["--train-prediction", "xgb_oof", "--correct-sigma", "1km", "--sigma", "1km", "--c", "1", "--engine", engine]
    process = subprocess.run([binary, "smooth", *flags, *correct, "-o", tmp_path / "out.parquet"], capture_output=True, timeout=60, env=environment())
    assert_explained(process, 2, ["too far apart"])


def test_diagnosis_of_nothing(refused, country):
    refused("diagnose", "--sigma is missing")
    refused("diagnose", "2 predictions", sigma="1km", prediction="xgb,ridge", hint="one")
    refused("diagnose", "--label is missing", sigma="1km", train=None, label=None)
    pq.write_table(country.tables["validation"].slice(0, 0), country.paths["validation"])
    refused("diagnose", "no rows", sigma="1km")
    refused("diagnose", "leak", sigma="1km", validation=country.paths["train"])
