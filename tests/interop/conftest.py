"""Runs the real binary: the one that GEOSMOOTH names, or the release build of this repository."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def binary():
    path = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth")).resolve()
    if not path.is_file():
        pytest.fail(f"{path} does not exist: run `cargo build --release`, or let GEOSMOOTH name the binary")
    return path


@pytest.fixture(scope="session")
def geosmooth(binary):
    """Runs the binary with these arguments and returns the completed process, whatever its exit code."""

    def run(*arguments):
        return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def smooth(geosmooth, tmp_path):
    """Runs `geosmooth smooth` and returns the path of its output.

    Keywords are flags: `label_weight=2` is `--label-weight 2`, `certificate=True` is `--certificate`.
    """

    def run(test, train=None, prediction="xgb", sigma="500m", c=1, **flags):
        out = tmp_path / "smoothed.parquet"
        flags = {"test": test, "prediction": prediction, "sigma": sigma, "c": c, "output": out, "overwrite": True} | flags
        if train is not None:
            flags = {"train": train, "label": "price"} | flags
        process = geosmooth("smooth", *as_arguments(flags))
        assert process.returncode == 0, process.stderr
        return out

    return run


def as_arguments(flags):
    for name, value in flags.items():
        yield "-o" if name == "output" else "--" + name.replace("_", "-")
        if value is not True:
            yield value
