"""The sample of house sales, and the command line that Python is compared with."""

import json
import os
import subprocess
from pathlib import Path

import matplotlib
import pyarrow.parquet as pq
import pytest

REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "data-samples"
COLUMNS = {"label": "log_price", "prediction": "xgb"}

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def sample():
    """The sample as tables of pyarrow: train, validation and test."""
    return {name: pq.read_table(SAMPLES / f"{name}.parquet") for name in ("train", "validation", "test", "test_geo")}


@pytest.fixture(scope="session")
def command():
    """Runs the command and gives the object that it prints; keywords are flags."""
    binary = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth"))
    assert binary.is_file(), f"{binary} does not exist: run `cargo build --release`, or let GEOSMOOTH name the binary"

    def run(subcommand, **flags):
        words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        process = subprocess.run([binary, subcommand, *words, "--json"], capture_output=True, text=True, timeout=120)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


@pytest.fixture(scope="session")
def refusal():
    """The error that the command gives: one line and a hint."""
    binary = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth"))

    def run(subcommand, *words):
        process = subprocess.run([binary, subcommand, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert process.returncode != 0
        return process.stderr

    return run
