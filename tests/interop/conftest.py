"""Runs the real binary: the one that GEOSMOOTH names, or the release build of this repository."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sample import test_rows

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


@pytest.fixture(scope="session")
def much(tmp_path_factory):
    """Enough rows for a run of some tenths of a second, with columns that take time to copy."""
    n, rng = 150_000, np.random.default_rng(13)
    table = test_rows(n)
    for number in range(8):
        table = table.append_column(f"noise {number}", pa.array(rng.integers(0, 2**62, n)))
    path = tmp_path_factory.mktemp("much") / "test.parquet"
    pq.write_table(table, path, compression="none", row_group_size=20_000)
    return path
