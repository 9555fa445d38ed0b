"""Arrays of any layout and type, work that is interrupted, processes that fork: case 73 of the list of bad inputs."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import geosmooth

PLACES = np.random.default_rng(73).uniform(size=(200, 2))
VALUES = np.random.default_rng(37).normal(size=200)
LAYOUTS = {
    "by columns": np.asfortranarray,
    "every other": lambda array: np.repeat(array, 2, axis=0)[::2],
    "backwards": lambda array: array[::-1].copy()[::-1],
    "part of a wider one": lambda array: np.column_stack([array, array])[:, : array.shape[1]] if array.ndim == 2 else np.column_stack([array, array])[:, 0],
    "read-only": lambda array: np.lib.stride_tricks.as_strided(array, writeable=False),
    "another byte order": lambda array: array.astype(">f8"),
    "not aligned": lambda array: np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:].view(np.float64).reshape(array.shape),
    "a list": lambda array: array.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_73_arrays_of_any_layout(layout):
    change = LAYOUTS[layout]
    expected = geosmooth.kernel_sums(PLACES, PLACES, VALUES, sigma=0.1)
    found = geosmooth.kernel_sums(change(PLACES), change(PLACES), change(VALUES), sigma=0.1)
    assert (found.values == expected.values).all() and (found.mass == expected.mass).all()


@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float32", "longdouble", "bool"])
def test_73_arrays_of_any_real_type(kind):
    whole = (np.arange(200) % 2).astype(kind)
    found = geosmooth.kernel_sums(PLACES, PLACES, whole, sigma=0.1)
    assert (found.values == geosmooth.kernel_sums(PLACES, PLACES, whole.astype(float), sigma=0.1).values).all()


@pytest.mark.parametrize("bad", [np.array(["a"] * 200), np.full(200, 1j), np.array([None] * 200), np.zeros(200, "datetime64[s]"), np.zeros((200, 2, 2)), np.zeros(199)], ids=str)
def test_73_arrays_that_are_no_numbers(bad):
    with pytest.raises((TypeError, ValueError)):
        geosmooth.kernel_sums(PLACES, PLACES, bad, sigma=0.1)


def frame(values):
    return pd.DataFrame({"x": PLACES[:, 0], "y": PLACES[:, 1], "model": values})


def test_73_tables_of_another_byte_order():
    """pandas hands such columns over as nothing at all: they are refused rather than smoothed."""
    with pytest.raises(ValueError, match="column 'model' is Null, not a number"):
        geosmooth.smooth(frame(LAYOUTS["another byte order"](VALUES)), prediction="model", index=["x", "y"], sigma=0.1, c=1)


@pytest.mark.parametrize("kind", ["every other", "backwards", "read-only"])
def test_73_tables_of_any_layout(kind):
    options = {"prediction": "model", "index": ["x", "y"], "sigma": 0.1, "c": 1}
    expected = geosmooth.smooth(frame(VALUES), **options)["model_smoothed"]
    found = geosmooth.smooth(frame(LAYOUTS[kind](VALUES)), **options)["model_smoothed"]
    assert (found.to_numpy() == expected.to_numpy()).all()


INTERRUPTED = """
import os, numpy as np, pyarrow as pa
import geosmooth

rng = np.random.default_rng(0)
n = 400_000
rows = pa.table({"x": rng.uniform(size=n), "model": rng.normal(size=n)})
options = {"prediction": "model", "index": "x", "c": 1}
for turn in range(2):
    print("ready", flush=True)
    try:
        geosmooth.smooth(rows, **options, sigma=1, engine="exact")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(geosmooth.smooth(rows.slice(0, 1000), **options, sigma=0.1).num_rows, flush=True)
child = os.fork()
if child == 0:
    geosmooth.smooth(rows.slice(0, 1000), **options, sigma=0.1)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_73_interrupted_and_usable_afterwards():
    """Twice, with work in between, and a fork after it."""
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(2):
            assert process.stdout.readline() == "ready\n"
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert [process.stdout.readline() for _ in range(2)] == ["interrupted\n", "1000\n"]
        assert process.communicate(timeout=60)[0] == "7\n"
    finally:
        process.kill()
        process.wait()


def write_in_child(folder):
    rows = pa.table({"x": np.arange(100.0), "model": np.arange(100.0)})
    pa.parquet.write_table(rows, f"{folder}/rows.parquet")
    geosmooth.smooth(f"{folder}/rows.parquet", prediction="model", index="x", sigma=2, c=1, output=f"{folder}/out.parquet")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only where there are forks")
def test_73_files_written_after_a_fork(tmp_path):
    """From a parent that has written files too."""
    for folder in ("parent", "child"):
        (tmp_path / folder).mkdir()
    import pyarrow.parquet  # noqa: F401

    write_in_child(tmp_path / "parent")
    child = multiprocessing.get_context("fork").Process(target=write_in_child, args=[tmp_path / "child"])
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0
    assert [sorted(path.name for path in (tmp_path / folder).iterdir()) for folder in ("parent", "child")] == [["out.parquet", "rows.parquet"]] * 2
