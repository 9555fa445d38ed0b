"""Full disks, inputs that change, concurrent and killed runs, system limits. Numbers as in the list of bad inputs."""

import contextlib
import fcntl
import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import REPOSITORY, as_arguments
from damage import EARLIER, assert_explained, environment, flags_with_defaults, temporary_files, written
from faults import INTERRUPTED, PATIENCE, assert_earlier_or_whole, ended_by, left_behind, limited, moments, mounted, peak, repeats, started
from sample import Reference, test_rows, train_rows

SAMPLES = REPOSITORY / "data-samples"
OVERWRITE = pytest.mark.parametrize("overwrite", [False, True], ids=["no output yet", "an earlier output"])


def smoothing(binary, test, out, **flags):
    flags = flags_with_defaults({"test": test, "output": out, "sigma": "30m"} | flags)
    return [binary, "smooth", *map(str, as_arguments(flags))]


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, timeout=PATIENCE, env=environment(), **options)


# --- disks ------------------------------------------------------------------------------------------------------


@OVERWRITE
@pytest.mark.parametrize("share", [0.0, 0.4, 0.98], ids=["at once", "in the middle", "at the end"])
def test_63_disk_full(binary, much, tmp_path, share, overwrite):
    whole = tmp_path / "whole.parquet"
    assert run(smoothing(binary, much, whole)).returncode == 0
    room = int(whole.stat().st_size * share) // 4096 * 4096 + 4096
    with mounted(tmp_path / "disk", f"size={room}") as disk:
        out = disk / "out.parquet"
        if overwrite:
            out.write_bytes(EARLIER)
        process = run(smoothing(binary, much, out, **{"overwrite": True} if overwrite else {}))
        assert_explained(process, 1, [out, "No space left"], "disk")
        assert out.read_bytes() == EARLIER if overwrite else not out.exists()
        assert left_behind(disk) == []


@pytest.mark.parametrize("command", ["tune", "report", "demo", "reproduce"])
def test_63_disk_full_for_other_files(binary, tmp_path, command):
    with mounted(tmp_path / "disk", "size=12k") as disk:
        for filler in range(3):
            (disk / f"filler {filler}").write_bytes(b"x" * 4096)
        process = run(commands(binary, disk)[command])
        assert_explained_after_output(process, 1, "No space left")
        assert left_behind(disk) == []


def assert_explained_after_output(process, code, said):
    """By then the demo has printed its result."""
    process.stdout = b""
    assert_explained(process, code, [said])


def test_64_temporary_and_final_on_different_devices(binary, much, tmp_path):
    """The temporary file is beside the target of the link, and the link is kept."""
    with mounted(tmp_path / "disk", "size=64m") as disk:
        (disk / "real.parquet").write_bytes(EARLIER)
        link = tmp_path / "out.parquet"
        link.symlink_to(disk / "real.parquet")
        assert_explained(run(smoothing(binary, much, link)), 2, [link, "exists"], "--overwrite")
        assert run(smoothing(binary, much, link, overwrite=True)).returncode == 0
        assert link.is_symlink() and "xgb_smoothed" in pq.read_schema(disk / "real.parquet").names
        assert left_behind(tmp_path) == []


def test_64_a_folder_that_is_a_link_to_another_device(binary, written, tmp_path):
    with mounted(tmp_path / "disk", "size=1m") as disk:
        (tmp_path / "folder").symlink_to(disk)
        assert run(smoothing(binary, written(test_rows()), tmp_path / "folder" / "out.parquet")).returncode == 0
        assert [path.name for path in disk.iterdir()] == ["out.parquet"]


def test_62_read_only_file_system(binary, written, tmp_path):
    with mounted(tmp_path / "disk", "size=1m,ro") as disk:
        process = run(smoothing(binary, written(test_rows()), disk / "out.parquet"))
        assert_explained(process, 1, [disk / "out.parquet", "ead-only"], "folder")


@pytest.fixture
def nobody(binary):
    """A folder of an unprivileged user with a copy of the program, and a command prefix to run it."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as somebody else")
    folder = Path(tempfile.mkdtemp(prefix="nobody-"))
    os.chown(folder, 65534, 65534)
    shutil.copy(binary, folder / "geosmooth")
    yield folder, lambda command: run(command, user=65534, group=65534, extra_groups=[])
    shutil.rmtree(folder)


@pytest.mark.parametrize("role", ["test", "train"])
def test_60_no_permission_for_others(nobody, role):
    folder, run_as_nobody = nobody
    paths = {"test": folder / "test.parquet", "train": folder / "train.parquet"}
    pq.write_table(test_rows(20), paths["test"])
    pq.write_table(train_rows(20), paths["train"])
    paths[role].chmod(0o600)
    command = smoothing(folder / "geosmooth", paths["test"], folder / "out.parquet", train=paths["train"], label="price")
    assert_explained(run_as_nobody(command), 1, ["cannot read", paths[role], "Permission denied"])
    assert not (folder / "out.parquet").exists() and temporary_files(folder) == []


def test_62_folder_of_somebody_else(nobody):
    folder, run_as_nobody = nobody
    pq.write_table(test_rows(20), folder / "test.parquet")
    (folder / "locked").mkdir(mode=0o755)
    out = folder / "locked" / "out.parquet"
    assert_explained(run_as_nobody(smoothing(folder / "geosmooth", folder / "test.parquet", out)), 1, [out, "ermission denied"], "folder")


# --- disks that fail --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A command prefix that makes reads of a file fail after this many."""
    compiler, shim = shutil.which("cc"), tmp_path_factory.mktemp("shim") / "failing_disk.so"
    if not compiler:
        pytest.skip("no C compiler to make a disk fail with")
    source = REPOSITORY / "tests" / "interop" / "failing_disk.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)

    def run_failing(command, file, sound_reads):
        faults = {"LD_PRELOAD": str(shim), "FAILING_FILE": str(file), "SOUND_READS": str(sound_reads)}
        return subprocess.run([str(part) for part in command], capture_output=True, timeout=PATIENCE, env=environment() | faults)

    return run_failing


@pytest.mark.parametrize("role", ["test", "train", "params"])
def test_94_a_disk_that_fails_to_read(binary, failing, tmp_path, record_property, role):
    """Issue 15, point 9: any failed read is reported as an input/output error (exit code 1), not as a damaged file (2)."""
    paths = {"test": tmp_path / "test.parquet", "train": tmp_path / "train.parquet", "params": tmp_path / "tuned.json"}
    pq.write_table(test_rows(300), paths["test"], row_group_size=100)
    pq.write_table(train_rows(300).append_column("xgb", test_rows(300)["xgb"]), paths["train"], row_group_size=100)
    tuning = [binary, "tune", "--train", paths["train"], "--label", "price", "--prediction", "xgb", "--leave-one-out", "--sigma-grid", "500m"]
    assert run([*tuning, "-o", paths["params"]]).returncode == 0
    out, sound = tmp_path / "out.parquet", 0
    command = [binary, "smooth", "--params", paths["params"], "--train", paths["train"], "--test", paths["test"], "--threads", "1", "-o", out]
    while (process := failing(command, paths[role], sound)).returncode != 0:
        assert_explained(process, 1, ["cannot read", paths[role], "Input/output error"], "disk")
        assert not out.exists() and left_behind(tmp_path) == []
        sound += 1
    record_property("inputs", sound)
    assert sound >= {"test": 10, "train": 5, "params": 1}[role]


# --- inputs that change -----------------------------------------------------------------------------------------


def replaced(path):
    """Another file gets the name; the open file stays complete."""
    pq.write_table(test_rows(10), path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path):
    os.truncate(path, 0)


def overwritten(path):
    """Overwritten with garbage of the same length."""
    with open(path, "r+b") as file:
        file.write(b"\xff" * (path.stat().st_size - 1))


def grown(path):
    with open(path, "ab") as file:
        file.write(b"more")


def removed(path):
    path.unlink()


@pytest.mark.parametrize("change", [replaced, truncated, emptied, overwritten, grown, removed], ids=lambda change: change.__name__)
def test_65_input_changed_during_the_run(binary, much, tmp_path, record_property, change):
    """An error, or the result for the original file: never a crash or a mixture."""
    whole, out, copy = (tmp_path / name for name in ("whole.parquet", "out.parquet", "copy.parquet"))
    begun = time.monotonic()
    assert run(smoothing(binary, much, whole)).returncode == 0
    duration, codes = time.monotonic() - begun, []
    for moment in moments(duration, 6 * repeats()):
        shutil.copy(much, copy)
        process = started(smoothing(binary, copy, out, overwrite=True))
        time.sleep(moment)
        change(copy)
        process.stdout, process.stderr = (bytes(text) for text in process.communicate(timeout=PATIENCE))
        codes.append(process.returncode)
        if process.returncode == 0:
            assert pq.read_table(out).equals(pq.read_table(whole))
            out.unlink()
        else:
            process.stdout = b""
            assert process.returncode in (1, 2)
            assert_explained(process, process.returncode, ["copy.parquet"])
        assert not out.exists() and left_behind(tmp_path) == []
    record_property("inputs", len(codes))
    assert change in (truncated, emptied, overwritten, grown) or set(codes) <= {0}


# --- runs that meet ---------------------------------------------------------------------------------------------


def test_69_two_runs_to_one_output(binary, much, tmp_path, record_property):
    """Without permission to replace, the first run to finish wins and the others report an error."""
    for _ in range(2 * repeats()):
        out = tmp_path / "out.parquet"
        processes = [started(smoothing(binary, much, out, c=c)) for c in (0.25, 0.5, 0.75)]
        errors = [process.communicate(timeout=PATIENCE)[1] for process in processes]
        codes = [process.returncode for process in processes]
        assert sorted(codes)[0] == 0 and sorted(codes)[1] in (1, 2), (codes, errors)
        assert all(b"exists" in error and error.count(b"\n") == 2 for code, error in zip(codes, errors) if code)
        assert is_of(out, much, [0.25, 0.5, 0.75][codes.index(0)], binary, tmp_path)
        assert left_behind(tmp_path) == []
        out.unlink()
    record_property("inputs", 6 * repeats())


def test_69_two_runs_that_may_replace(binary, much, tmp_path, record_property):
    """Each run replaces the result of the other by a complete one."""
    out, seen, stop = tmp_path / "out.parquet", set(), threading.Event()
    out.write_bytes(EARLIER)

    def watch():
        while not stop.is_set():
            seen.add(out.read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(repeats()):
            processes = [started(smoothing(binary, much, out, c=c, overwrite=True)) for c in (0.25, 0.5, 0.75)]
            assert [(process.communicate(timeout=PATIENCE), process.returncode)[1] for process in processes] == [0, 0, 0]
    finally:
        stop.set()
        watcher.join()
    whole = {EARLIER}
    for c in (0.25, 0.5, 0.75):
        assert run(smoothing(binary, much, tmp_path / f"{c}.parquet", c=c)).returncode == 0
        whole.add((tmp_path / f"{c}.parquet").read_bytes())
    record_property("inputs", 3 * repeats())
    assert len(seen) >= 2 and seen <= whole and left_behind(tmp_path) == []


def is_of(out, test, c, binary, folder):
    other = folder / "other.parquet"
    assert run(smoothing(binary, test, other, c=c, overwrite=True)).returncode == 0
    return out.read_bytes() == other.read_bytes()


# --- limits of the system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
def test_70_address_space(binary, tmp_path, record_property, engine):
    """With any limit, a run succeeds or is refused with one line and a hint; it never aborts."""
    test, train, out = tmp_path / "test.parquet", tmp_path / "train.parquet", tmp_path / "out.parquet"
    pq.write_table(test_rows(20_000), test)
    pq.write_table(train_rows(20_000), train)
    codes = []
    for megabytes in (60, 100, 150, 200, 220, 240, 260, 300, 400, 4000):
        command = smoothing(binary, test, out, train=train, label="price", sigma="30m", engine=engine)
        process = run(command, preexec_fn=limited(AS=megabytes * 10**6))
        codes.append(process.returncode)
        if process.returncode == 0:
            out.unlink()
        elif process.returncode != 127:  # the system could not even load the program
            process.stdout = b""
            assert process.returncode in (1, 2), (megabytes, process.returncode, process.stderr)
            assert_explained(process, process.returncode, [])
        assert not out.exists() and left_behind(tmp_path) == [], megabytes
    record_property("inputs", len(codes))
    assert codes[-1] == 0 and codes[0] != 0


@OVERWRITE
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_70_file_size(binary, much, tmp_path, share, overwrite):
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    assert run(smoothing(binary, much, whole)).returncode == 0
    if overwrite:
        out.write_bytes(EARLIER)
    command = smoothing(binary, much, out, **{"overwrite": True} if overwrite else {})
    process = run(command, preexec_fn=limited(FSIZE=int(whole.stat().st_size * share)))
    assert_explained(process, 1, [out, "File too large"], "ulimit -f")
    assert out.read_bytes() == EARLIER if overwrite else not out.exists()
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("files", [4, 5, 6, 7, 8, 9, 10, 12, 16])
def test_70_open_files(binary, tmp_path, files):
    """Six parts, each of which stays open."""
    (tmp_path / "parts").mkdir()
    for number in range(6):
        pq.write_table(test_rows(20), tmp_path / "parts" / f"{number}.parquet")
    out = tmp_path / "out.parquet"
    process = run(smoothing(binary, tmp_path / "parts", out), preexec_fn=limited(NOFILE=files))
    if process.returncode == 0:
        return Reference(pa.concat_tables([test_rows(20)] * 6), sigma="30m").assert_close(out)
    assert files < 16
    assert_explained(process, 1, ["Too many open files"])
    assert not out.exists() and left_behind(tmp_path) == []


def test_70_stack(binary, written, tmp_path):
    process = run(smoothing(binary, written(test_rows()), tmp_path / "out.parquet"), preexec_fn=limited(STACK=200_000))
    assert process.returncode == 0, process.stderr


def test_70_processes(nobody):
    """A limit on threads, which does not bind root."""
    folder, _ = nobody
    pq.write_table(test_rows(20), folder / "test.parquet")
    command = smoothing(folder / "geosmooth", folder / "test.parquet", folder / "out.parquet", threads=64)
    for threads in (1, 2, 3, 10):
        process = run(command, user=65534, group=65534, extra_groups=[], preexec_fn=limited(NPROC=threads))
        assert_explained(process, 1, ["cannot start"])
        assert not (folder / "out.parquet").exists() and temporary_files(folder) == []


@pytest.mark.parametrize("threads", ["1025", "20000", "99999999999999999999", "-1", "many"])
def test_55_threads_of_the_environment(binary, written, tmp_path, threads):
    """Issue 15, point 9: checked like --threads; 20,000 ended in an abort."""
    command, surroundings = smoothing(binary, written(test_rows()), tmp_path / "out.parquet"), environment() | {"RAYON_NUM_THREADS": threads}
    process = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=surroundings)
    assert_explained(process, 2, ["RAYON_NUM_THREADS", threads], "between 1 and 1024")
    assert not (tmp_path / "out.parquet").exists()
    assert subprocess.run([*command, "--threads", "2"], env=surroundings, timeout=PATIENCE, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("threads", ["", "0", "3"])
def test_55_sound_threads_of_the_environment(binary, written, tmp_path, threads):
    command, surroundings = smoothing(binary, written(test_rows()), tmp_path / "out.parquet"), environment() | {"RAYON_NUM_THREADS": threads}
    assert subprocess.run(command, env=surroundings, timeout=PATIENCE, stdout=subprocess.DEVNULL).returncode == 0


# --- memory -----------------------------------------------------------------------------------------------------

ROWS = 150_000
LAYOUTS = {
    "towns": lambda rng: rng.uniform([30, -110], [48, -75], (75, 2))[rng.integers(0, 75, ROWS)] + rng.normal(0, 0.05, (ROWS, 2)),
    "country": lambda rng: rng.uniform([30, -110], [48, -75], (ROWS, 2)),
}
WIDTHS = {"exact": ["10m"], "sparse": ["10m", "100m", "0.001deg"], "fast": ["10m", "1km", "50km", "1000km", "0.01deg", "0.5deg", "0.2"]}
# Half-empty huge pages, and the buffers of readers and writers, for any number of rows.
ALLOWANCE = 16e6


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Rows of every layout, with a third coordinate for index columns."""
    folder = tmp_path_factory.mktemp("places")
    for name, layout in LAYOUTS.items():
        rng = np.random.default_rng(56)
        at = layout(rng)
        columns = {"latitude": at[:, 0], "longitude": at[:, 1], "height": rng.uniform(0, 2, ROWS)}
        pq.write_table(pa.table(columns | {f"model {k}": rng.normal(size=ROWS) for k in range(6)}), folder / f"{name}.parquet")
    pq.write_table(pq.read_table(folder / "country.parquet").slice(0, 20), folder / "few.parquet")
    return folder


@pytest.mark.parametrize(("engine", "sigma"), [(engine, sigma) for engine in WIDTHS for sigma in WIDTHS[engine]])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_56_runs_stay_within_their_limit(binary, places, tmp_path, record_property, layout, engine, sigma):
    """The reported peak memory, minus that of a run with a few rows, is below the limit; or the run is refused."""

    def peak_under(limit, test, **flags):
        index = {"index": "latitude,longitude,height"} if sigma[-1].isdigit() else {}
        flags = {"sigma": sigma, "engine": engine, "overwrite": True, "json": True, "prediction": "model 0"} | index | flags
        process = run(smoothing(binary, places / test, tmp_path / "out.parquet", memory_limit=limit, **flags))
        if process.returncode == 0:
            return json.loads(process.stdout)["peak_memory_bytes"]
        assert_explained(process, 2, ["needs about"], "--memory-limit")

    base, done, tried = peak_under("1GB", "few.parquet"), 0, 0
    limits = (20, 60, 120, 240)
    # More columns and certificates take at least the memory of one column: two limits are enough unless there is time.
    fewer = limits if repeats() > 1 else limits[1::2]
    columns = {"prediction": ",".join(f"model {k}" for k in range(6))}
    for flags, limits in (({}, limits), ({"certificate": True}, fewer), (columns, fewer)):
        for megabytes in limits:
            found = peak_under(f"{megabytes}MB", f"{layout}.parquet", **flags)
            done, tried = done + (found is not None), tried + 1
            assert found is None or found - base <= megabytes * 1e6 + ALLOWANCE, (flags, megabytes, found - base)
    record_property("inputs", tried)
    assert 0 < done < tried


OTHERS = {
    "tune": lambda rows: ["tune", "--validation", rows, "--sigma-grid", "100m,1km"],
    "diagnose": lambda rows: ["diagnose", "--validation", rows, "--sigma", "1km"],
    "compare": lambda rows: ["compare", "--test", rows, "--sigma", "100m", "--engines", "sparse,fast"],
}


@pytest.mark.parametrize("name", OTHERS)
def test_56_other_subcommands_stay_within_their_limit(binary, places, tmp_path, record_property, name):
    table = pq.read_table(places / "towns.parquet").slice(0, 40_000).rename_columns({"model 0": "price"})
    pq.write_table(table, tmp_path / "rows.parquet")
    pq.write_table(table.slice(0, 20), tmp_path / "few.parquet")

    def peak_under(limit, rows):
        columns = ["--label", "price", "--prediction", "model 1"]
        process, most = started([binary, *OTHERS[name](rows), *columns, "--memory-limit", limit]), 0
        while process.poll() is None:
            most = max(most, peak(process.pid))
            time.sleep(1e-3)
        _, said = process.communicate()
        if process.returncode == 0:
            return most
        assert process.returncode == 2 and b"needs about" in said, said

    # The run is so short that sampling may miss the peak: the best of several runs.
    base, done = max(peak_under("1GB", tmp_path / "few.parquet") for _ in range(5)), 0
    for megabytes in (5, 20, 40, 80):
        found = peak_under(f"{megabytes}MB", tmp_path / "rows.parquet")
        done += found is not None
        assert found is None or found - base <= megabytes * 1e6 + ALLOWANCE, (megabytes, found - base)
    record_property("inputs", 4)
    assert 0 < done < 4


def test_56_more_memory_does_no_harm(binary, tmp_path, record_property):
    """Issue 15, point 9: if the weight matrix does not fit, tiles are used, as for rows that do not fit."""
    rng, rows = np.random.default_rng(9), 500_000
    at = rng.uniform([41.0, -84.0], [43.0, -82.0], (rows, 2))
    pq.write_table(pa.table({"latitude": at[:, 0], "longitude": at[:, 1], "xgb": rng.normal(size=rows)}), tmp_path / "rows.parquet")
    ways = []
    for limit in ("120MiB", "200MiB", "1GiB"):
        command = smoothing(binary, tmp_path / "rows.parquet", tmp_path / "out.parquet", sigma="100m", engine="sparse", memory_limit=limit, overwrite=True)
        process = run([*command, "--json"])
        assert process.returncode == 0, (limit, process.stderr)
        ways.append("streamed" in json.loads(process.stdout))
    record_property("inputs", len(ways))
    assert ways == [True, True, False]


@contextlib.contextmanager
def control_group(megabytes):
    """Creates a control group with this limit; returns a command prefix that runs a process in it."""
    for folder, limit in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max")):
        outer, inner = folder / "geosmooth-outer", folder / "geosmooth-outer" / "inner"
        try:
            outer.mkdir()
            inner.mkdir()
            (outer / limit).write_text(str(megabytes * 10**6))
            break
        except OSError:
            for made in (inner, outer):
                with contextlib.suppress(OSError):
                    made.rmdir()
    else:
        pytest.skip("control groups cannot be made here")
    try:
        yield lambda: (inner / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        inner.rmdir()
        outer.rmdir()


@pytest.mark.parametrize("rows", [50_000, 400_000])
def test_92_runs_stay_within_a_control_group(binary, tmp_path, rows):
    """Issue 15, point 7: without --memory-limit, in a control group whose parent has the limit; such runs were killed."""
    rng = np.random.default_rng(7)
    at = rng.uniform([35.0, -90.0], [42.0, -83.0], (rows, 2))
    pq.write_table(pa.table({"latitude": at[:, 0], "longitude": at[:, 1], "xgb": rng.normal(size=rows)}), tmp_path / "rows.parquet")
    out = tmp_path / "out.parquet"
    with control_group(150) as enter:
        process = run([*smoothing(binary, tmp_path / "rows.parquet", out, sigma="500m"), "--json", "--spill-dir", tmp_path], preexec_fn=enter)
    if process.returncode == 0:
        assert json.loads(process.stdout)["peak_memory_bytes"] < 150e6 and pq.read_metadata(out).num_rows == rows
    else:
        assert_explained(process, 2, ["needs about"])
    assert left_behind(tmp_path) == []


# --- signals ----------------------------------------------------------------------------------------------------


def commands(binary, folder):
    """Every subcommand that takes time, with outputs in a folder."""
    train, validation, test = (SAMPLES / f"{name}.parquet" for name in ("train", "validation", "test"))
    columns = ["--label", "log_price", "--prediction", "xgb"]
    known = ["--train", train, *columns]
    kernel = ["--sigma", "2km"]
    return {
        "smooth": [binary, "smooth", *known, *kernel, "--test", test, "--c", "1", "--certificate", "-o", folder / "out.parquet"],
        "matrix": [binary, "smooth", *known, "--test", test, "--sigma", "500m", "--c", "1", "--engine", "sparse", "-o", folder / "out.parquet", "--matrix", folder / "matrix.parquet"],
        "exact": [binary, "smooth", *known, *kernel, "--test", test, "--c", "1", "--engine", "exact", "-o", folder / "out.parquet"],
        "tune": [binary, "tune", *known, "--validation", validation, "-o", folder / "tuned.json"],
        "report": [binary, "tune", *known, "--validation", validation, "--report", folder / "page"],
        "compare": [binary, "compare", *known, *kernel, "--test", test],
        "diagnose": [binary, "diagnose", *known, *kernel, "--validation", validation, "--report", folder / "page"],
        "methods": [binary, "methods", *known, "--validation", validation, "--test", test, "--report", folder / "page"],
        "reproduce": [binary, "reproduce", "housing", "--rows", "1000", "--trials", "1", "--compared", "1", "--out", folder / "study"],
        "simulation": [binary, "reproduce", "simulation", "--out", folder / "study"],
        "demo": [binary, "demo", "--out", folder / "demo"],
    }


NAMES = list(commands("", Path()))


@pytest.mark.parametrize("name", NAMES)
def test_71_signals_at_any_moment(binary, tmp_path, record_property, name):
    """The command ends with 130 or 143 and leaves only files with their final names, which are complete."""
    (tmp_path / "tmp").mkdir()
    surroundings = environment() | {"TMPDIR": str(tmp_path / "tmp")}
    command = commands(binary, tmp_path / "out")[name]
    (tmp_path / "out").mkdir()
    begun = time.monotonic()
    process = started(command, env=surroundings)
    try:
        process.communicate(timeout=3 if repeats() > 1 else 1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        shutil.rmtree(tmp_path / "tmp")
        (tmp_path / "tmp").mkdir()
    duration, ended = time.monotonic() - begun, []
    tries = moments(duration, 4 * repeats())
    for at, moment in enumerate(tries):
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "out").mkdir()
        process = started(command, env=surroundings)
        time.sleep(moment)
        ended.append(ended_by(process, [signal.SIGINT, signal.SIGTERM][at % 2]))
        assert left_behind(tmp_path) == []
        assert all(is_whole(path) for path in (tmp_path / "out").rglob("*") if path.is_file())
    record_property("inputs", len(tries))
    assert any(ended)


def is_whole(path):
    """A file that can be read completely."""
    if path.suffix == ".parquet":
        return pq.read_table(path).num_rows > 0
    text = path.read_text()
    return {
        ".json": lambda: bool(json.loads(text)),
        ".html": lambda: text.rstrip().endswith("</html>"),
        ".svg": lambda: text.rstrip().endswith("</svg>"),
    }.get(path.suffix, lambda: text.endswith("\n"))()


@pytest.mark.parametrize("number", INTERRUPTED, ids=lambda number: number.name)
def test_71_while_writing(binary, much, tmp_path, number, record_property):
    """Signals while an output is written over an earlier one."""
    out, kept = tmp_path / "out.parquet", 0
    size = much.stat().st_size
    assert run(smoothing(binary, much, out)).returncode == 0
    whole = out.read_bytes()
    for share in moments(1, 6 * repeats()):
        out.write_bytes(EARLIER)
        process = started(smoothing(binary, much, out, overwrite=True))
        while process.poll() is None and written_so_far(tmp_path) < size * share:
            pass
        kept += assert_earlier_or_whole(out, ended_by(process, number), whole)
        assert left_behind(tmp_path) == []
    record_property("inputs", 6 * repeats())
    assert kept >= 2


def written_so_far(folder):
    """The total size of temporary files; a file may disappear meanwhile."""
    size = 0
    for path in temporary_files(folder):
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def test_71_ignored_as_asked(binary, much, tmp_path):
    """Signals that `nohup` and background jobs ignore stay ignored."""

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = started(smoothing(binary, much, tmp_path / "out.parquet"), preexec_fn=ignore)
    for number in (signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and (tmp_path / "out.parquet").exists()


OTHERS_THAT_END = ["QUIT", "ABRT", "USR1", "USR2", "ALRM", "XCPU", "VTALRM", "PROF", "STKFLT", "IO", "PWR", "RTMIN", "RTMAX"]


@pytest.mark.parametrize("name", [name for name in OTHERS_THAT_END if hasattr(signal, f"SIG{name}")])
def test_96_other_signals_leave_nothing(binary, much, tmp_path, name):
    """Issue 15, point 11: the signals of batch systems and users end a run as Ctrl-C does."""
    number, out = getattr(signal, f"SIG{name}"), tmp_path / "out.parquet"
    process = started(smoothing(binary, much, out))
    while process.poll() is None and not temporary_files(tmp_path):
        pass
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (128 + number, b"error: interrupted\n")
    assert not out.exists() and left_behind(tmp_path) == []


def test_96_limit_on_processor_time(binary, places, tmp_path):
    """Issue 15, point 11: the soft limit of `ulimit -t` sends SIGXCPU."""
    command = smoothing(binary, places / "country.parquet", tmp_path / "out.parquet", prediction="model 0", sigma="1000km", engine="exact")
    process = run(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 60)))
    assert (process.returncode, process.stderr) == (128 + signal.SIGXCPU, b"error: interrupted\n")
    assert left_behind(tmp_path) == []


def test_96_ignored_as_asked(binary, much, tmp_path):
    """Issue 15, point 11: the parent process may have set a signal to be ignored."""
    ignored = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGPWR)
    process = started(smoothing(binary, much, tmp_path / "out.parquet"), preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored])
    for number in ignored:
        process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and (tmp_path / "out.parquet").exists()


def test_71_the_terminal_is_clean(binary, tmp_path):
    """The progress bar is removed, and one line remains."""
    ours, theirs = pty.openpty()
    process = started(commands(binary, tmp_path)["methods"], stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"\x1b" not in shown and b"methods" not in shown and process.poll() is None:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 130
    shown += read_rest(ours)
    # The last thing drawn is an empty line, followed by our message.
    last = shown.decode().rsplit("\x1b[2K", 1)[-1]
    assert last.strip("\r\n") == "error: interrupted", shown[-300:]


def read_rest(terminal):
    text = b""
    try:
        while piece := os.read(terminal, 4096):
            text += piece
    except OSError:  # the other end is closed
        pass
    return text


def test_71_nobody_reads_stderr(binary, tmp_path):
    """A final message that cannot be written does not delay the end of the process."""
    reading, writing = os.pipe()
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags)
    process = started(commands(binary, tmp_path)["methods"], stderr=writing)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 143
    os.close(reading), os.close(writing)


# --- kill -9 of everything --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["matrix", "tune", "report", "demo"])
def test_68_killed_while_writing_other_files(binary, tmp_path, record_property, name):
    """Files with their final names are complete; temporary files may remain, since the process cannot remove them."""
    command = commands(binary, tmp_path / "out")[name]
    (tmp_path / "out").mkdir()
    begun = time.monotonic()
    assert run(command).returncode == 0
    duration = time.monotonic() - begun
    chance, kills = random.Random(68), 2 * repeats()
    for _ in range(kills):
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "out").mkdir()
        process = started(command, env=environment() | {"TMPDIR": str(tmp_path)})
        # Most files are written at the end.
        time.sleep(duration * chance.uniform(0.0, 1.0) ** 0.5)
        process.kill()
        process.communicate()
        assert all(is_whole(path) for path in (tmp_path / "out").rglob("*") if path.is_file() and not path.name.startswith(".geosmooth-"))
    record_property("inputs", kills)


# --- other machines ---------------------------------------------------------------------------------------------

MACHINES = {
    "one core": {"preexec_fn": lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])},
    "one thread": {"threads": 1},
    "64 threads": {"threads": 64},
    "64 threads on one core": {"threads": 64, "preexec_fn": lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])},
}


@pytest.fixture(scope="module")
def town():
    """Rows, labels and their smoothed values."""
    test, train = test_rows(3000), train_rows(3000)
    return test, train, Reference(test, train)


@pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
@pytest.mark.parametrize("simd", ["", "avx2", "plain"])
def test_72_cores_threads_and_instructions(binary, town, written, tmp_path, engine, simd):
    """Results have the same bits for any number of cores and threads, and agree between instruction sets."""
    test, train = written(town[0]), written(town[1], "train.parquet")
    out, results = tmp_path / "out.parquet", []
    for options in MACHINES.values():
        options = dict(options)
        threads = {"threads": options.pop("threads")} if "threads" in options else {}
        command = smoothing(binary, test, out, train=train, label="price", sigma="500m", engine=engine, overwrite=True, **threads)
        surroundings = environment() | ({"GEOSMOOTH_SIMD": simd} if simd else {})
        process = subprocess.run([str(part) for part in command], capture_output=True, timeout=PATIENCE, env=surroundings, **options)
        assert process.returncode == 0, process.stderr
        results.append(pq.read_table(out)["xgb_smoothed"].to_numpy())
    assert all((result == results[0]).all() for result in results)
    town[2].assert_close(out, 1e-6)
