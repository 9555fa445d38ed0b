"""Outputs: their permissions, conflicts between them, and the files that killed runs leave. Numbers as in the list of bad inputs."""

import contextlib
import os
import signal
import subprocess
import time

import pyarrow.parquet as pq
import pytest

from damage import EARLIER, assert_explained, temporary_files, written
from faults import PATIENCE, left_behind, mounted, repeats, started
from sample import test_rows, train_rows
from test_faults import SAMPLES, commands, nobody, run, smoothing

MASKS = [0o022, 0o077, 0o002, 0o000]


def mode(path):
    return path.stat().st_mode & 0o7777


# --- permissions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: f"{mask:03o}")
def test_91_new_outputs_are_as_any_new_file(binary, tmp_path, mask):
    """Issue 15, point 6."""
    out = tmp_path / "out"
    out.mkdir()
    for name in ("matrix", "tune", "report"):
        process = run(commands(binary, out)[name], umask=mask)
        assert process.returncode == 0, process.stderr
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) > 4 and {mode(path) for path in files} == {0o666 & ~mask}


@pytest.mark.parametrize("earlier", [0o600, 0o640, 0o400, 0o666, 0o604])
def test_91_overwriting_keeps_the_permissions(binary, written, tmp_path, earlier):
    """Issue 15, point 6: the owner is kept, too, if the user may change it."""
    outputs = [tmp_path / "out.parquet", tmp_path / "page" / "index.html", tmp_path / "page" / "values.svg"]
    (tmp_path / "page").mkdir()
    owner = (1234, 2345) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    for path in outputs:
        path.write_bytes(EARLIER)
        path.chmod(earlier)
        os.chown(path, *owner)
    process = run(smoothing(binary, written(test_rows()), outputs[0], report=tmp_path / "page", overwrite=True))
    assert process.returncode == 0, process.stderr
    for path in outputs:
        assert path.read_bytes() != EARLIER
        assert (mode(path), path.stat().st_uid, path.stat().st_gid) == (earlier, *owner), path


@pytest.mark.parametrize(("earlier", "kept"), [(0o640, 0o600), (0o660, 0o600), (0o644, 0o644), (0o604, 0o600)])
def test_91_access_is_not_widened_where_the_owner_cannot_be_kept(nobody, earlier, kept):
    """Issue 15, point 6: a file of root and its group becomes a file of the user who may replace it."""
    folder, run_as_nobody = nobody
    out = folder / "out.parquet"
    pq.write_table(test_rows(20), folder / "test.parquet")
    out.write_bytes(EARLIER)
    out.chmod(earlier)
    process = run_as_nobody(smoothing(folder / "geosmooth", folder / "test.parquet", out, overwrite=True))
    assert process.returncode == 0, process.stderr
    assert (mode(out), out.stat().st_uid) == (kept, 65534) and pq.read_table(out).num_rows == 20


def test_91_nobody_else_reads_what_is_half_written(binary, much, tmp_path):
    """Issue 15, point 6: only the owner may read temporary files until they are complete."""
    whole, seen = tmp_path / "whole.parquet", set()
    assert run(smoothing(binary, much, whole)).returncode == 0
    process = started(smoothing(binary, much, tmp_path / "out.parquet"))
    while process.poll() is None:
        for path in temporary_files(tmp_path):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                if found.st_size < whole.stat().st_size:
                    seen.add(found.st_mode & 0o777)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and seen == {0o600}


# --- outputs that meet ------------------------------------------------------------------------------------------


def sets(binary, folder):
    """Runs in which two outputs are the same file."""
    smooth, tune = commands(binary, folder)["smooth"][:-1], commands(binary, folder)["tune"][:-1]
    page = ["--report", folder / "page", "--overwrite"]
    return {
        "page": ([*smooth, folder / "page" / "index.html", *page], "index.html"),
        "figure": ([*smooth, folder / "page" / "values.svg", *page], "values.svg"),
        "figure of another case": ([*smooth, folder / "page" / "VALUES.SVG", *page], "VALUES.SVG"),
        "link to the page": ([*smooth, folder / "link.html", *page], "index.html"),
        "tuned and page": ([*tune, folder / "page" / "index.html", *page], "index.html"),
        "matrix and page": ([*commands(binary, folder)["matrix"][:-1], folder / "page" / "index.html", *page], "index.html"),
        "folder of the page": ([*smooth, folder / "new", "--report", folder / "new"], "new"),
        "folder around the page": ([*smooth, folder / "new", "--report", folder / "new" / "page"], "new"),
        "matrix and output": ([*commands(binary, folder)["matrix"][:-1], folder / "out.parquet"], "out.parquet"),
    }


@pytest.mark.parametrize("name", sets("", SAMPLES))
def test_95_two_outputs_that_are_one_file(binary, tmp_path, name):
    """Issue 15, point 10: refused before the work; nothing is written."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_bytes(EARLIER)
    (tmp_path / "link.html").symlink_to(tmp_path / "page" / "index.html")
    command, named = sets(binary, tmp_path)[name]
    assert_explained(run(command), 2, [named, "--"], "name")
    assert (tmp_path / "page" / "index.html").read_bytes() == EARLIER
    assert left_behind(tmp_path) == [] and not any((tmp_path / name).exists() for name in ("out.parquet", "new"))
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["index.html"]


def test_95_an_output_may_stand_beside_the_page(binary, tmp_path):
    (tmp_path / "page").mkdir()
    command = [*commands(binary, tmp_path)["smooth"][:-1], tmp_path / "page" / "out.parquet", "--report", tmp_path / "page"]
    assert run(command).returncode == 0
    assert {"out.parquet", "index.html", "values.svg"} <= {path.name for path in (tmp_path / "page").iterdir()}


@pytest.mark.parametrize("way", ["itself", "link", "hard link"])
def test_95_parameters_are_an_input(binary, written, tmp_path, way):
    """Issue 15, point 10: `--params t.json -o t.json`."""
    tuned, out = tmp_path / "tuned.json", tmp_path / "out.json"
    assert run([*commands(binary, tmp_path)["tune"][:-1], tuned, "--sigma-grid", "500m"]).returncode == 0
    before = tuned.read_bytes()
    {"itself": lambda: None, "link": lambda: out.symlink_to(tuned), "hard link": lambda: os.link(tuned, out)}[way]()
    out = tuned if way == "itself" else out
    data = ["--train", SAMPLES / "train.parquet", "--test", SAMPLES / "test.parquet", "--params", tuned]
    for command in ([binary, "smooth", *data, "-o", out, "--overwrite"],):
        assert_explained(run(command), 2, [out, "both input and output"])
    assert tuned.read_bytes() == before and left_behind(tmp_path) == []


@pytest.mark.parametrize("other", ["matrix", "report"])
def test_95_all_or_none_on_a_full_disk(binary, tmp_path, other):
    """Issue 15, point 10: no output gets its name before all are complete."""
    with mounted(tmp_path / "disk", "size=64k") as disk:
        out = tmp_path / "out.parquet"
        out.write_bytes(EARLIER)
        command = [*commands(binary, tmp_path)["matrix"][:-2], "--overwrite"]
        command += ["--matrix", disk / "matrix.parquet"] if other == "matrix" else ["--report", disk / "page"]
        assert_explained(run(command), 1, ["No space left", disk])
        assert out.read_bytes() == EARLIER
        assert left_behind(tmp_path) == [] and [path for path in disk.rglob("*") if path.is_file()] == []


# --- folders that cannot be listed ------------------------------------------------------------------------------


def test_94_folder_that_cannot_be_listed(nobody):
    """Issue 15, point 9: the folder is writable, and the output gets its name."""
    folder, run_as_nobody = nobody
    pq.write_table(test_rows(20), folder / "test.parquet")
    (folder / "drop").mkdir()
    os.chown(folder / "drop", 65534, 65534)
    (folder / "drop").chmod(0o300)
    out = folder / "drop" / "out.parquet"
    process = run_as_nobody(smoothing(folder / "geosmooth", folder / "test.parquet", out))
    assert (process.returncode, process.stderr) == (0, b"") and pq.read_table(out).num_rows == 20
    assert [path.name for path in (folder / "drop").iterdir()] == ["out.parquet"]


# --- what killed runs leave -------------------------------------------------------------------------------------


def killed_while_writing(command, folder):
    """Kills a run as soon as something is written to its temporary file, and returns that file."""
    process = started(command)
    while process.poll() is None and not any(path.stat().st_size for path in temporary_files(folder)):
        pass
    process.kill()
    process.communicate(timeout=PATIENCE)
    return temporary_files(folder)


def test_97_the_next_run_removes_what_a_killed_one_left(binary, much, written, tmp_path, record_property):
    """Issue 15, last sentence of point 15."""
    folder, left = tmp_path / "out", 0
    folder.mkdir()
    test = written(test_rows())
    for _ in range(3 * repeats()):
        left += len(killed_while_writing(smoothing(binary, much, folder / "out.parquet", overwrite=True), folder))
        assert run(smoothing(binary, test, folder / "other.parquet", overwrite=True)).returncode == 0
        assert left_behind(folder) == []
    record_property("inputs", 3 * repeats())
    assert left > 0


def test_97_what_a_run_still_holds_stays(binary, much, written, tmp_path):
    """Issue 15: a run that is stopped for a while keeps its file."""
    process = started(smoothing(binary, much, tmp_path / "slow.parquet"))
    while not temporary_files(tmp_path):
        assert process.poll() is None
    process.send_signal(signal.SIGSTOP)
    held = temporary_files(tmp_path)
    for _ in range(3):
        assert run(smoothing(binary, written(test_rows()), tmp_path / "out.parquet", overwrite=True)).returncode == 0
    assert temporary_files(tmp_path) == held
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=PATIENCE) == 0
    assert pq.read_table(tmp_path / "slow.parquet").num_rows > 0 and left_behind(tmp_path) == []


def test_97_what_is_not_ours_stays(binary, written, tmp_path):
    """Issue 15: links, folders, pipes and files of other users are never removed, whatever their names."""
    stays = [tmp_path / f".geosmooth-{name}.tmp" for name in ("link", "folder", "pipe", "other")]
    stays[0].symlink_to(written(test_rows(), "kept.parquet"))
    stays[1].mkdir()
    os.mkfifo(stays[2])
    if os.geteuid() == 0:
        stays[3].write_bytes(EARLIER)
        os.chown(stays[3], 65534, 65534)
    goes = tmp_path / ".geosmooth-goes.tmp"
    goes.write_bytes(EARLIER)
    assert run(smoothing(binary, written(test_rows()), tmp_path / "out.parquet")).returncode == 0
    assert not goes.exists() and (tmp_path / "kept.parquet").exists()
    assert sorted(left_behind(tmp_path)) == sorted(path for path in stays if path.is_symlink() or path.exists())


def test_97_many_runs_in_one_folder(binary, written, tmp_path, record_property):
    """Issue 15: runs that start at the same time do not take each other's files for abandoned."""
    test, count = written(test_rows()), 24
    for _ in range(repeats()):
        processes = [
            subprocess.Popen(smoothing(binary, test, tmp_path / f"{number}.parquet", overwrite=True, threads=1), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            for number in range(count)
        ]
        errors = [process.communicate(timeout=PATIENCE)[1] for process in processes]
        assert [process.returncode for process in processes] == [0] * count, errors
        assert left_behind(tmp_path) == []
    record_property("inputs", count * repeats())


def test_97_folders_too(binary, tmp_path):
    """Issue 15: the sample that `reproduce` unpacks."""
    (tmp_path / "tmp").mkdir()
    surroundings = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    command = commands(binary, tmp_path)["reproduce"]
    process = started(command, env=surroundings)
    while process.poll() is None and not left_behind(tmp_path / "tmp"):
        time.sleep(1e-3)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert left_behind(tmp_path / "tmp")
    command[-1] = tmp_path / "again"
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=PATIENCE, env=surroundings)
    assert done.returncode == 0 and left_behind(tmp_path / "tmp") == [], done.stderr
