"""How work runs: threads, progress, Ctrl-C, other threads of Python, forks."""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from conftest import COLUMNS

import geosmooth

LONG = """
import sys, numpy as np, pyarrow as pa
import geosmooth

rng = np.random.default_rng(0)
n = {rows}
rows = pa.table({{"x": rng.uniform(size=n), "y": rng.uniform(size=n), "model": rng.normal(size=n), "truth": rng.normal(size=n)}})
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""
EXACT = 'geosmooth.smooth(rows, prediction="model", index=["x", "y"], sigma=1, c=1, engine="exact")'
TUNE = 'geosmooth.tune(rows, label="truth", prediction="model", index=["x", "y"], engine="exact", sigma_grid=[1.0] * 99)'
SUMS = 'geosmooth.kernel_sums(np.stack([rows["x"], rows["y"]], 1), np.stack([rows["x"], rows["y"]], 1), rows["model"], sigma=1, engine="exact")'


@pytest.mark.parametrize(("rows", "work"), [(400_000, EXACT), (100_000, TUNE), (400_000, SUMS)], ids=["smooth", "tune", "sums"])
def test_ctrl_c(rows, work):
    """A real signal ends work that would take minutes, and the interpreter goes on."""
    process = subprocess.Popen([sys.executable, "-c", LONG.format(rows=rows, work=work)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.5)
        assert process.poll() is None, "the work was over before the signal"
        process.send_signal(signal.SIGINT)
        # Well before the work would have been over, which takes minutes.
        assert select.select([process.stdout], [], [], 20)[0], "the signal went unheard"
        assert process.stdout.readline() == "interrupted\n"
    finally:
        process.kill()
        process.wait()


def test_the_same_bits_for_any_number_of_threads(sample):
    columns = [
        geosmooth.smooth(sample["test"], sample["train"], **COLUMNS, sigma="300m", c=0.7, threads=threads)["xgb_smoothed"]
        for threads in (None, 1, 2, 5)
    ]
    assert all(column.equals(columns[0]) for column in columns)


def test_progress_is_told(sample):
    heard = []
    geosmooth.smooth(
        sample["test"], sample["train"], **COLUMNS, sigma="300m", c=0.7, engine="exact", threads=1,
        progress=lambda *told: heard.append(told),
    )  # fmt: skip
    phases = [phase for phase, _, _ in heard]
    assert phases and set(phases) <= {"read", "plan", "apply", "write"}
    assert all(0 <= done <= total or total == 0 for _, done, total in heard)


def test_a_bar_is_drawn(sample, capfd):
    geosmooth.tune(sample["validation"], **COLUMNS, sigma_range=("100m", "1km"), progress=True)
    assert "tune [" in capfd.readouterr().err


def test_a_callback_that_raises_stops_the_work():
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.uniform(size=300_000), "model": rng.normal(size=300_000)})

    class Enough(Exception):
        pass

    heard = []

    def progress(*told):
        heard.append(told)
        raise Enough

    with pytest.raises(Enough):
        geosmooth.smooth(rows, prediction="model", index="x", sigma=1, c=1, engine="exact", progress=progress)
    assert len(heard) == 1


def test_other_threads_run_meanwhile():
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.uniform(size=60_000), "model": rng.normal(size=60_000)})
    worker = threading.Thread(
        target=geosmooth.smooth, args=[rows], kwargs={"prediction": "model", "index": "x", "sigma": 1, "c": 1, "engine": "exact"}
    )
    worker.start()
    ticks = 0
    while worker.is_alive():
        ticks += 1
        time.sleep(0.001)
    # With the lock held throughout, this thread would have run a few times at most.
    assert ticks > 50


def smooth_in_child(queue):
    rows = pa.table({"x": np.arange(2000.0), "model": np.arange(2000.0)})
    queue.put(geosmooth.smooth(rows, prediction="model", index="x", sigma=2, c=1)["model_smoothed"].to_pylist()[1000])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only where there are forks")
def test_work_after_a_fork(sample):
    """Threads do not survive a fork: none may be kept from before."""
    geosmooth.smooth(sample["test"], prediction="xgb", sigma="300m", c=1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=smooth_in_child, args=[queue])
    child.start()
    assert queue.get(timeout=30) == pytest.approx(1000)
    child.join(timeout=30)
    assert child.exitcode == 0


GIVEN_BACK = """
import time, numpy as np, pyarrow as pa
import geosmooth

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

rng = np.random.default_rng(0)
rows = pa.table({name: rng.uniform(size=1_000_000) for name in ("x", "y", "model")})
before = held()
smoothed = geosmooth.smooth(rows, prediction="model", index=["x", "y"], sigma=0.001, c=1, engine="fast")
most, deadline = held(), time.monotonic() + 30
while held() > before + 50e6 and time.monotonic() < deadline:
    time.sleep(0.1)
print((most - before) / 1e6, (held() - before) / 1e6)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="nothing says how much memory is held")
def test_memory_goes_back_to_the_system():
    """A program that lives on must not hold what its largest call once needed."""
    done = subprocess.run([sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, timeout=120, check=True)
    most, rest = map(float, done.stdout.split())
    assert most > 100 and rest < 50, f"{most} MB at the end of the call, {rest} MB later"
