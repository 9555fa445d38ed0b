"""Files that are not Parquet, no longer Parquet, or Parquet of an unusual kind. Numbers as in the list of bad inputs."""

import base64
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import (
    MAGIC,
    assert_explained,
    refused,
    run,
    sound_bytes,
    with_arrow_schema,
    with_footer_length,
    written,
)
from sample import Reference, column, test_rows, train_rows, with_column

SOUND = sound_bytes()
CSV = b"latitude,longitude,xgb\n41.65,-83.54,200\n41.66,-83.55,210\n"

NO_PARQUET = {
    "01_empty": b"",
    "02_eleven_bytes": MAGIC + b"abc" + MAGIC,
    "03_csv": CSV,
    "04_trailing_magic_missing": SOUND[:-4],
    "04_trailing_magic_wrong": SOUND[:-4] + b"RAP1",
    "05_footer_length_0": with_footer_length(SOUND, 0),
    "05_footer_length_1": with_footer_length(SOUND, 1),
    "05_footer_length_of_the_file": with_footer_length(SOUND, len(SOUND)),
    "05_footer_length_beyond_the_file": with_footer_length(SOUND, len(SOUND) + 1000),
    "05_footer_length_largest": with_footer_length(SOUND, 0xFFFFFFFF),
}


@pytest.mark.parametrize("role", ["test", "train"])
@pytest.mark.parametrize("case", NO_PARQUET)
def test_01_to_05_no_parquet(refused, written, case, role):
    files = {"test": written(test_rows(20)), "train": written(train_rows(20), "train.parquet")}
    files[role] = written(NO_PARQUET[case], "bad.parquet")
    refused("bad.parquet", label="price", **files)


def test_06_truncated(binary, tmp_path):
    """Truncated at a thousand positions: every file is refused, and no output is left behind."""
    data = sound_bytes(30)
    lengths = np.unique(np.linspace(0, len(data) - 1, 1000).astype(int))
    assert len(lengths) == 1000

    def attempt(length):
        path = tmp_path / f"{length}.parquet"
        path.write_bytes(data[:length])
        process = run(binary, {"test": path, "output": tmp_path / f"{length}.out", "threads": 1})
        path.unlink()
        assert_explained(process, 2, [path.name])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attempt, lengths))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["test", "train"])
@pytest.mark.parametrize("row_groups", [0, 1])
def test_16_no_row_groups(smooth, tmp_path, row_groups, where):
    tables = {"test": test_rows(), "train": train_rows()}
    tables[where] = tables[where].slice(0, 0)
    for name, table in tables.items():
        with pq.ParquetWriter(tmp_path / name, table.schema) as writer:
            for _ in range(row_groups if name == where else 1):
                writer.write_table(table)
    assert pq.read_metadata(tmp_path / where).num_row_groups == row_groups
    out = smooth(tmp_path / "test", tmp_path / "train")
    if where == "test":
        assert pq.read_table(out).num_rows == 0
        assert pq.read_schema(out).names == [*tables["test"].column_names, "xgb_smoothed"]
    else:
        Reference(tables["test"]).assert_close(out)


@pytest.mark.parametrize("empty", [0, 1, 3])
def test_17_a_row_group_without_rows(smooth, tmp_path, empty):
    test, path = test_rows(), tmp_path / "test.parquet"
    parts = [test.slice(50 * i, 50) for i in range(3)]
    parts.insert(empty, test.slice(0, 0))
    with pq.ParquetWriter(path, test.schema) as writer:
        for part in parts:
            writer.write_table(part)
    assert [pq.read_metadata(path).row_group(i).num_rows for i in range(4)] == [len(part) for part in parts]
    Reference(test).assert_close(smooth(path))


ENCODINGS = [
    *(("float64", encoding) for encoding in ("PLAIN", "BYTE_STREAM_SPLIT", "dictionary")),
    *(("int32", encoding) for encoding in ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "dictionary")),
    *(("string", encoding) for encoding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "dictionary")),
    *(("bool", encoding) for encoding in ("PLAIN", "RLE")),
]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(("kind", "encoding"), ENCODINGS)
def test_18_every_encoding(smooth, written, kind, encoding, version):
    """Numbers as predictions, text and booleans as groups, which are read too."""
    test = test_rows()
    group = np.arange(150) % 2
    if kind in ("string", "bool"):
        labels = ["rather long text, A", "rather long text, B"] if kind == "string" else [False, True]
        test = test.append_column("it", pa.array([labels[g] for g in group]))
    else:
        test = test.append_column("it", pa.array(np.round(column(test, "xgb"))).cast(kind))
        group[:] = 0
    encode = {"use_dictionary": ["it"]} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {"it": encoding}}
    path = written(test, data_page_version=version, **encode)
    used = pq.read_metadata(path).row_group(0).column(4).encodings
    assert ("RLE_DICTIONARY" if encoding == "dictionary" else encoding) in used

    is_group = kind in ("string", "bool")
    flags = {"group": "it"} if is_group else {"prediction": "it"}
    found = pq.read_table(smooth(path, **flags))["xgb_smoothed" if is_group else "it_smoothed"].to_numpy()
    if not is_group:
        test = with_column(test, "xgb", test["it"])
    for g in np.unique(group):
        alone = Reference(test.filter(pa.array(group == g)))
        assert abs(found[group == g] - alone.smoothed).max() <= 1e-6 * np.ptp(column(test, "xgb"))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_18_many_small_pages(smooth, written, version):
    """Page headers at all distances from the end of the last read."""
    test = test_rows(3000)
    path = written(test, data_page_size=1, write_batch_size=1, use_dictionary=False, compression="none", data_page_version=version)
    Reference(test).assert_close(smooth(path, memory_limit="100MiB"))


ARROW_GARBAGE = {
    "not base64": lambda text: b"!" * len(text),
    "zeros": lambda text: b"A" * len(text),
    "noise": lambda text: np.random.default_rng(3).choice(list(b"ABCabc019+/"), len(text)).astype(np.uint8).tobytes(),
    "cut short": lambda text: text[: len(text) // 2] + b"A" * (len(text) - len(text) // 2),
    "huge offsets": lambda text: text[:24] + b"/" * 24 + text[48:],
}


@pytest.mark.parametrize("garbage", ARROW_GARBAGE)
def test_19_garbage_in_the_arrow_schema(refused, written, garbage):
    refused("bad.parquet", test=written(with_arrow_schema(SOUND, ARROW_GARBAGE[garbage]), "bad.parquet"))


def test_19_an_arrow_schema_of_other_columns(refused, written):
    swap = lambda text: base64.b64encode(base64.b64decode(text).replace(b"latitude", b"ladidude"))
    refused("bad.parquet", test=written(with_arrow_schema(SOUND, swap), "bad.parquet"))
