"""7: bytes changed at random, in metadata and pages, for every codec. Each file is refused with an explanation or read;
nothing is killed, hangs or takes more memory than there is.

A few hundred files for each codec here; `make hostile` tries ten thousand. A file that fails is kept, with its number.
"""

import collections
import io
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import REPOSITORY, as_arguments
from damage import assert_explained, environment
from sample import test_rows, train_rows

ATTEMPTS = int(os.environ.get("FLIPPED_FILES", 300))
KEPT = REPOSITORY / "target" / "flipped"
ADDRESS_SPACE = 1 << 20  # in KiB: a gibibyte
ROWS = 30


def variants(codec):
    """Valid files of all kinds: encodings, page versions, with and without checksums and page indexes."""
    for role in ("test", "train"):
        table = test_rows(ROWS) if role == "test" else train_rows(ROWS)
        table = table.append_column("group", pa.array(["first", "second", "third"] * (ROWS // 3)))
        for dictionary in (True, False):
            for version, checksum, index in (("1.0", False, True), ("2.0", False, False), ("1.0", True, False)):
                encoding = {} if dictionary else {"column_encoding": {"group": "DELTA_BYTE_ARRAY", "xgb" if role == "test" else "price": "BYTE_STREAM_SPLIT"}}
                sink = io.BytesIO()
                pq.write_table(
                    table,
                    sink,
                    compression=codec,
                    use_dictionary=dictionary,
                    data_page_version=version,
                    write_page_checksum=checksum,
                    write_page_index=index,
                    row_group_size=20,
                    **encoding,
                )
                yield role, sink.getvalue()


def flipped(data, rng):
    """One to four bytes changed: half of the time in the footer, else anywhere."""
    out = bytearray(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    start = footer if rng.random() < 0.5 else 0
    for at in rng.integers(start, len(data), rng.integers(1, 5)):
        out[at] = rng.integers(256) if rng.random() < 0.5 else out[at] ^ (1 << rng.integers(8))
    return bytes(out)


def attempt(binary, folder, sound, number, role, data, grouped):
    """Runs on a changed file and returns the outcome; fails the test if a promise is broken."""
    bad, out = folder / f"{number}.parquet", folder / f"{number}.out"
    bad.write_bytes(data)
    flags = {"test": sound["test"], "train": sound["train"]} | {role: bad}
    flags |= {"label": "price", "prediction": "xgb", "sigma": "500m", "c": 1, "output": out}
    flags |= {"threads": 1, "memory_limit": "100MiB"} | ({"group": "group"} if grouped else {})
    limited = ["sh", "-c", f'ulimit -v {ADDRESS_SPACE}; exec "$@"', "sh", binary]
    process = subprocess.run([*limited, "smooth", *map(str, as_arguments(flags))], capture_output=True, timeout=60, env=environment())
    if process.returncode == 0:
        assert_sound(out)
        out.unlink()
    else:
        assert_explained(process, 2, [bad.name])
        assert not out.exists()
    bad.unlink()
    return process.returncode


def assert_sound(out):
    """Other programs can read the output, and the new column is complete."""
    smoothed = pq.read_table(out, columns=["xgb_smoothed"])["xgb_smoothed"]
    assert len(smoothed) == pq.read_metadata(out).num_rows
    assert smoothed.null_count == 0 and np.isfinite(smoothed.to_numpy()).all()


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_07_flipped_bytes(binary, tmp_path, codec):
    files = list(variants(codec))
    sound = {}
    for role, table in (("test", test_rows(ROWS)), ("train", train_rows(ROWS))):
        sound[role] = tmp_path / f"{role}.parquet"
        pq.write_table(table.append_column("group", pa.array(["first", "second", "third"] * (ROWS // 3))), sound[role])

    def try_one(number):
        rng = np.random.default_rng([number, *codec.encode()])
        role, data = files[rng.integers(len(files))]
        data = flipped(data, rng)
        try:
            return attempt(binary, tmp_path, sound, number, role, data, rng.random() < 0.5)
        except (AssertionError, subprocess.TimeoutExpired, OSError, pa.ArrowException) as problem:
            KEPT.mkdir(parents=True, exist_ok=True)
            (KEPT / f"{codec}-{role}-{number}.parquet").write_bytes(data)
            return f"{codec}-{role}-{number}: {type(problem).__name__}: {problem}"

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(try_one, range(ATTEMPTS)))
    counts = collections.Counter(outcome for outcome in outcomes if isinstance(outcome, int))
    print(f"\n{codec}: {ATTEMPTS} files tried, {counts[0]} read, {counts[2]} refused", end="")
    failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert not failures, "\n".join(failures[:20])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.parquet", "train.parquet"]
    assert counts[0] >= ATTEMPTS / 20 and counts[2] >= ATTEMPTS / 4, "the files are too sound or too broken to tell"
