"""The sample of house sales, and the command line that Python is compared with."""

import json
import os
import re
import subprocess
from pathlib import Path

import matplotlib
import pyarrow.parquet as pq
import pytest
from cluster import spark as spark

REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "data-samples"
COLUMNS = {"label": "log_price", "prediction": "xgb"}

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def sample():
    """The sample as tables of pyarrow: train, validation and test."""
    return {name: pq.read_table(SAMPLES / f"{name}.parquet") for name in ("train", "validation", "test", "test_geo")}


@pytest.fixture(scope="session")
def binary():
    """The command."""
    binary = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth"))
    assert binary.is_file(), f"{binary} does not exist: run `cargo build --release`, or let GEOSMOOTH name the binary"
    return binary


@pytest.fixture(scope="session")
def options_of(binary):
    """The options of a subcommand with their defaults, as its help lists them."""

    def options(subcommand):
        text = subprocess.run([binary, subcommand, "--help"], capture_output=True, text=True, timeout=120).stdout
        parts = re.split(r"^ +(?:-\w, )?--([a-z-]+)", text, flags=re.MULTILINE)
        defaults = [re.search(r"\[default: (.*?)\]", part) for part in parts[2::2]]
        return dict(zip(parts[1::2], [found and found[1] for found in defaults], strict=True))

    return options


@pytest.fixture(scope="session")
def command(binary):
    """Runs the command and gives the object that it prints; keywords are flags."""

    def run(subcommand, **flags):
        words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        process = subprocess.run([binary, subcommand, *words, "--json"], capture_output=True, text=True, timeout=120)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


@pytest.fixture(scope="session")
def refusal(binary):
    """The error that the command gives: one line and a hint."""

    def run(subcommand, *words):
        process = subprocess.run([binary, subcommand, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert process.returncode != 0
        return process.stderr

    return run
