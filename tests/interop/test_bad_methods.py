"""Invalid requests to `methods`: each gets a clear error and leaves no files behind."""

import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from country import Country
from damage import assert_explained, environment, temporary_files


@pytest.fixture
def country(tmp_path):
    return Country(tmp_path, (40, 40, 40))


@pytest.fixture
def refused(binary, country, tmp_path):
    """Expects that `methods` refuses with a message that contains these words."""

    def expect(*names, hint="", **flags):
        defaults = {name: country.paths[name] for name in ("train", "validation", "test")} | {"label": "price", "prediction": "xgb", "sigma_grid": "1km"}
        flags = {name: value for name, value in (defaults | flags).items() if value is not None}
        arguments = [part for name, value in flags.items() for part in ("--" + name.replace("_", "-"), str(value))]
        process = subprocess.run([binary, "methods", *arguments, "--report", tmp_path / "page"], capture_output=True, timeout=60, env=environment())
        assert_explained(process, 2, names, hint)
        assert not (tmp_path / "page" / "index.html").exists() and temporary_files(tmp_path) == []

    return expect


def changed(country, table, column, values):
    rows = country.tables[table]
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, [values]), country.paths[table])


def test_unknown_methods(refused):
    refused("method", "'magic'", hint="p-es", methods="p-es,magic")
    refused("--methods", hint="at least one", methods=" , ")


def test_inputs_missing(refused):
    refused("--train is missing", train=None)
    refused("--label is missing", label=None)
    refused("--prediction is missing", prediction=None)
    refused("--test", test=None)


def test_feature_columns(refused, country):
    refused("column 'size'", features="size", methods="laprls")
    refused("--features is missing", methods="laprls", hint="numeric columns")
    for name, rows in country.tables.items():
        pq.write_table(rows.append_column("wall", pa.array(["brick"] * 40)), country.paths[name])
    refused("column 'wall'", features="wall", methods="laprls", hint="numeric")


def test_feature_with_holes(refused, country):
    for name, rows in country.tables.items():
        pq.write_table(rows.append_column("rooms", pa.array([1.0] * 39 + [None])), country.paths[name])
    refused("column 'rooms'", "null", "row 39", features="rooms", hint="--on-invalid skip")


@pytest.mark.parametrize("table", ["validation", "test"])
def test_constant_labels(refused, country, table):
    changed(country, table, "price", np.full(40, 3.0))
    refused("all labels", "R²", hint="--metric rmse")


def test_too_few_rows(refused, country):
    pq.write_table(country.tables["validation"].slice(0, 1), country.paths["validation"])
    refused("fewer than two rows", hint="--validation")


def test_no_labelled_rows(refused, country):
    pq.write_table(country.tables["train"].slice(0, 0), country.paths["train"])
    refused("no labelled rows", hint="--train")


@pytest.mark.parametrize("rows", [1, 2])
def test_one_labelled_row_is_enough(binary, country, rows):
    pq.write_table(country.tables["train"].slice(0, rows), country.paths["train"])
    inputs = [part for name, path in country.paths.items() for part in (f"--{name}", path)]
    process = subprocess.run([binary, "methods", *inputs, "--label", "price", "--prediction", "xgb", "--features", "ridge_oof", "--json"], capture_output=True, timeout=60)
    assert process.returncode == 0 and b"null" not in process.stdout, process.stderr


def test_constant_labels_to_learn_from(binary, country):
    changed(country, "train", "price", np.full(40, 3.0))
    inputs = [part for name, path in country.paths.items() for part in (f"--{name}", path)]
    process = subprocess.run([binary, "methods", *inputs, "--label", "price", "--prediction", "xgb", "--features", "ridge_oof", "--json"], capture_output=True, timeout=60)
    assert process.returncode == 0 and b"null" not in process.stdout, process.stderr


def test_the_same_rows_twice(refused, country):
    refused("both --train and --validation", "leak", validation=country.paths["train"])
    refused("both --train and --test", "leak", test=country.paths["train"])
    refused("both --validation and --test", "leak", test=country.paths["validation"])


def test_values_out_of_range(refused):
    refused("eta is 0", eta_grid="0,0.5", hint="above 0")
    refused("alpha is 1", alpha_grid="1")
    refused("c is 1.5", c_grid="1.5")
    refused("delta is -0.1", delta_grid="-0.1")
    refused("ridge is 0", ridge_grid="0")
    refused("laplacian is -1", laplacian_grid="-1")
    refused("noise is inf", noise_grid="inf")
    refused("constant is NaN", constant_grid="nan")
    refused("--noise-grid", "'loud'", noise_grid="loud")
    refused("sigma", "empty", sigma_grid=" ,")
    refused("list of values of eta", "empty", eta_grid=",")
    refused("sigma '0m'", sigma_grid="0m")
    refused("metric", "'best'", metric="best")


def test_index_columns_need_widths(refused):
    refused("--sigma-grid is missing", index="latitude,longitude", sigma_grid=None, hint="degrees")
