"""Faults while rows that memory does not hold are on disk. Numbers as in the list of bad inputs."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import as_arguments
from damage import EARLIER, assert_explained, environment
from faults import INTERRUPTED, PATIENCE, assert_earlier_or_whole, ended_by, left_behind, limited, moments, mounted, repeats, started
from test_streamed import LIMIT, TEST, country

# What is spilled of the country is some 30 MB.
ROOM = 128 << 20


def command(binary, country, out, spill, **flags):
    flags = {"test": country / "test.parquet", "train": country / "train.parquet", "label": "price", "prediction": "model", "c": 0.7,
             "sigma": "500m", "memory_limit": LIMIT, "output": out, "spill_dir": spill} | flags
    return [binary, "smooth", *as_arguments(flags)]


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, timeout=PATIENCE, env=environment(), **options)


@pytest.fixture
def spill(tmp_path):
    (tmp_path / "spill").mkdir()
    return tmp_path / "spill"


@pytest.fixture
def duration(binary, country, spill, tmp_path):
    """Seconds of a run, which is whole and leaves nothing on disk."""
    begun = time.monotonic()
    assert run(command(binary, country, tmp_path / "whole.parquet", spill)).returncode == 0
    assert os.listdir(spill) == [] and left_behind(tmp_path) == []
    return time.monotonic() - begun


# --- disks ------------------------------------------------------------------------------------------------------


def test_62_spill_folder_missing_or_no_folder(binary, country, tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "nowhere", tmp_path / "file"):
        process = run(command(binary, country, tmp_path / "out.parquet", folder))
        assert_explained(process, 1, ["cannot spill to", folder], "--spill-dir")
    assert os.listdir(tmp_path) == ["file"]


def test_62_spill_folder_read_only(binary, country, tmp_path):
    with mounted(tmp_path / "disk", f"size={ROOM},ro") as disk:
        process = run(command(binary, country, tmp_path / "out.parquet", disk))
        assert_explained(process, 1, ["cannot spill to", disk, "ead-only"], "--spill-dir")
    assert not (tmp_path / "out.parquet").exists() and left_behind(tmp_path) == []


def test_63_too_little_room_to_spill_is_told_before(binary, country, tmp_path):
    with mounted(tmp_path / "disk", "size=1m") as disk:
        process = run(command(binary, country, tmp_path / "out.parquet", disk))
        assert_explained(process, 1, ["cannot spill to", disk, "1.0 MiB are free", "need about"], "--spill-dir")
        assert os.listdir(disk) == []
    assert not (tmp_path / "out.parquet").exists() and left_behind(tmp_path) == []


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_63_disk_full_while_spilling(binary, country, tmp_path, share):
    """Somebody else takes the room that there was."""
    out = tmp_path / "out.parquet"
    out.write_bytes(EARLIER)
    with mounted(tmp_path / "disk", f"size={ROOM}") as disk:
        process = started(command(binary, country, out, disk, overwrite=True))
        while process.poll() is None and used(disk) <= share * (16 << 20):
            pass
        process.send_signal(signal.SIGSTOP)
        fill(disk / "full")
        process.send_signal(signal.SIGCONT)
        process.stdout, process.stderr = (bytes(text) for text in process.communicate(timeout=PATIENCE))
        assert_explained(process, 1, ["cannot spill to", disk, "No space left"], "--spill-dir")
        assert os.listdir(disk) == ["full"]
        os.remove(disk / "full")
        assert used(disk) == 0
    assert out.read_bytes() == EARLIER and left_behind(tmp_path) == []


def used(disk):
    state = os.statvfs(disk)
    return (state.f_blocks - state.f_bfree) * state.f_frsize


def fill(path):
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass


@pytest.mark.parametrize("megabytes", [0, 1, 5])
def test_70_file_size_while_spilling(binary, country, spill, tmp_path, megabytes):
    process = run(command(binary, country, tmp_path / "out.parquet", spill), preexec_fn=limited(FSIZE=megabytes << 20))
    assert_explained(process, 1, ["cannot spill to", spill, "File too large"], "ulimit -f")
    assert os.listdir(spill) == [] and not (tmp_path / "out.parquet").exists() and left_behind(tmp_path) == []


# --- signals and kills ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", INTERRUPTED, ids=lambda number: number.name)
def test_71_signals_while_rows_are_on_disk(binary, country, spill, tmp_path, duration, number, record_property):
    out, whole, kept = tmp_path / "out.parquet", (tmp_path / "whole.parquet").read_bytes(), 0
    tries = moments(duration, 8 * repeats())
    for moment in tries:
        out.write_bytes(EARLIER)
        process = started(command(binary, country, out, spill, overwrite=True))
        time.sleep(moment)
        kept += assert_earlier_or_whole(out, ended_by(process, number), whole)
        assert os.listdir(spill) == [] and left_behind(tmp_path) == []
    record_property("inputs", len(tries))
    assert kept >= len(tries) // 2


def test_68_killed_while_rows_are_on_disk(binary, country, tmp_path, duration, record_property):
    """Nothing is left where rows were spilled, not even the room that they took."""
    out, tries = tmp_path / "out.parquet", moments(duration, 8 * repeats())
    seen = 0
    with mounted(tmp_path / "disk", f"size={ROOM}") as disk:
        for moment in tries:
            process = started(command(binary, country, out, disk))
            time.sleep(moment)
            seen += used(disk) > 0
            process.kill()
            process.communicate()
            assert os.listdir(disk) == [] and used(disk) == 0
            if out.exists():
                assert pq.read_table(out).num_rows == TEST
                out.unlink()
    record_property("inputs", len(tries))
    assert seen >= 2, "no run had spilled anything"


# --- inputs that change -----------------------------------------------------------------------------------------


def turned(table):
    """As many rows, elsewhere."""
    elsewhere = pa.array(-table["latitude"].to_numpy())
    return table.set_column(table.schema.get_field_index("latitude"), "latitude", elsewhere)


def noisy(table, value):
    """As many rows at the same places, with other values."""
    noise = np.random.default_rng(0).normal(0.0, 10.0, table.num_rows)
    return table.set_column(table.schema.get_field_index(value), value, pa.array(table[value].to_numpy() + noise))


def nameless(pid, folder):
    """Files in a folder that a process has open and that have no name."""
    found = 0
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = os.readlink(link)
                found += target.startswith(str(folder)) and target.endswith("(deleted)")
    return found


def have_read(pid):
    """Bytes that a process has read so far."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/io").read_text().split()[1])
    return 0


@pytest.mark.parametrize("role, value, sigma, files", [("test", "model", "500m", 3), ("train", "price", "500m", 3), ("test", "model", "1deg", 1)],
                         ids=["predictions", "labels", "predictions by moments"])
def test_65_values_that_change_without_a_trace(binary, country, spill, tmp_path, role, value, sigma, files):
    """Issue 15: other values at the same places, in a file of the same size and time, after rows were counted and when the next look has begun: its
    files on disk are there. The certificate was false and nothing was said."""
    paths = {name: tmp_path / f"{name}.parquet" for name in ("sound", "noisy")}
    table = pq.read_table(country / f"{role}.parquet")
    for path, rows in zip(paths.values(), [table, noisy(table, value)]):
        pq.write_table(rows, path, compression="none", use_dictionary=False, row_group_size=50_000, write_statistics=False)
    other, copy, out = paths["noisy"].read_bytes(), tmp_path / "copy.parquet", tmp_path / "out.parquet"
    assert run(command(binary, country, out, spill, **{role: paths["sound"], "sigma": sigma})).returncode == 0
    sound = pq.read_table(out, columns=["model_smoothed"])
    for _ in range(PATIENCE):
        out.unlink(missing_ok=True)
        shutil.copy(paths["sound"], copy)
        before = copy.stat()
        assert len(other) == before.st_size
        process = started(command(binary, country, out, spill, **{role: copy, "sigma": sigma}))
        while process.poll() is None and (nameless(process.pid, spill) < files or have_read(process.pid) < 8 * 3 * TEST):
            pass
        process.send_signal(signal.SIGSTOP)
        with open(copy, "r+b") as file:
            file.write(other)
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
        process.send_signal(signal.SIGCONT)
        process.stdout, process.stderr = (bytes(text) for text in process.communicate(timeout=PATIENCE))
        if process.returncode:
            break
        assert pq.read_table(out, columns=["model_smoothed"]).equals(sound), "too late for the last look, but not without consequences"
    assert_explained(process, 2, ["copy.parquet", "has other rows than when they were counted"], "run again")
    assert not out.exists() and os.listdir(spill) == [] and left_behind(tmp_path) == []


@pytest.mark.parametrize("role", ["test", "train"])
def test_65_rows_that_move_between_two_looks(binary, country, spill, tmp_path, duration, role, record_property):
    """Rows are read twice, first to count them. Whoever writes sound rows over them in between is noticed, by what the file says or by what it holds."""
    files = [tmp_path / name for name in ("sound.parquet", "turned.parquet")]
    table = pq.read_table(country / f"{role}.parquet")
    for path, rows in zip(files, [table, turned(table)]):
        pq.write_table(rows, path, compression="none", use_dictionary=False, row_group_size=50_000, write_statistics=False)
    sizes = [path.stat().st_size for path in files]
    assert sizes[0] == sizes[1]
    other, copy, out, codes = files[1].read_bytes(), tmp_path / "copy.parquet", tmp_path / "out.parquet", []
    for at, moment in enumerate(moments(duration, 8 * repeats())):
        shutil.copy(files[0], copy)
        before = copy.stat()
        process = started(command(binary, country, out, spill, **{role: copy}))
        time.sleep(moment)
        with open(copy, "r+b") as file:
            file.write(other)
        if at % 2:  # as if nothing had happened
            os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
        process.stdout, process.stderr = (bytes(text) for text in process.communicate(timeout=PATIENCE))
        codes.append(process.returncode)
        if process.returncode:
            process.stdout = b""
            assert_explained(process, 2, ["copy.parquet"])
        else:
            out.unlink()
        assert not out.exists() and os.listdir(spill) == [] and left_behind(tmp_path) == []
    record_property("inputs", len(codes))
    assert 2 in codes
