"""Groups by keys of every type, and index columns far beyond 2^53. Numbers as in the list of bad inputs; both are of issue 15."""

import datetime
import json
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import refused, run, written

LARGE = 12_345_678_901_234_567_890
ID = uuid.UUID("550e8400-e29b-41d4-a716-446655440000")


def at_one_place(column, values, key):
    """Rows at one place, with values and keys."""
    count = len(values)
    return pa.table({"latitude": [41.0] * count, "longitude": [-83.0] * count, column: pa.array(values, pa.float64()), "key": key})


def decimals(values, data_type):
    return pa.array([Decimal(value) for value in values], data_type)


APART = {
    "decimal(20)": decimals([LARGE, LARGE + 1], pa.decimal128(38, 0)),
    "decimal(38)": decimals(["9" * 38, "9" * 37 + "8"], pa.decimal128(38, 0)),
    "decimal(38, 10)": decimals(["1234567890123456789.0000000001", "1234567890123456789.0000000002"], pa.decimal128(38, 10)),
    "decimal(76)": decimals(["9" * 76, "9" * 75 + "8"], pa.decimal256(76, 0)),
    "decimal(76, 70)": decimals(["1." + "0" * 69 + "1", "1." + "0" * 69 + "2"], pa.decimal256(76, 70)),
    "int64": pa.array([2**63 - 1, 2**63 - 2]),
    "uint64": pa.array([2**64 - 1, 2**64 - 2], pa.uint64()),
    "float": pa.array([2.0**60, 2.0**60 + 256]),
    "half float": pa.array(np.array([1.0, 1.0009765625], np.float16)),
    "bool": pa.array([True, False]),
    "text": pa.array(["1", "01"]),
    "UUID": pa.array([ID.bytes, bytes(16)], pa.binary(16)),
    "fixed bytes": pa.array([b"\x00\x01\xff", b"\x00\x01\xfe"], pa.binary(3)),
    "bytes": pa.array([b"\xff\xfe", b"\xff\xfd"]),
    "large bytes": pa.array([b"0xff", b"\xff"], pa.large_binary()),
    "dates": pa.array([0, 1], pa.date32()),
    "dates beyond the calendar": pa.array([2**31 - 1, 2**31 - 2], pa.int32()).view(pa.date32()),
    "nanoseconds": pa.array([2**62, 2**62 + 1], pa.timestamp("ns")),
    "moments beyond the calendar": pa.array([2**63 - 1, 2**63 - 2], pa.timestamp("ms", "UTC")),
    "times": pa.array([1, 2], pa.time64("ns")),
    "durations": pa.array([2**63 - 1, 2**63 - 2], pa.duration("s")),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
}  # fmt: skip


@pytest.mark.parametrize("key", APART.values(), ids=APART)
def test_74_keys_that_differ_are_groups_of_their_own(smooth, written, key):
    """Two rows at one place in different groups keep their values; a second row with the first key shares the average."""
    keys = pa.concat_arrays([key, key.slice(0, 1)])
    out = smooth(written(at_one_place("xgb", [0.0, 10.0, 4.0], keys)), group="key")
    table = pq.read_table(out)
    assert table["xgb_smoothed"].to_pylist() == [2.0, 10.0, 2.0]
    assert table["key"].combine_chunks().equals(keys)


@pytest.mark.parametrize("values", [values for values in APART.values() if not pa.types.is_dictionary(values.type)], ids=lambda values: str(values.type))
def test_74_dictionaries_of_every_type(smooth, written, values):
    """Those of decimals, booleans, half floats and fixed bytes were reported as damage."""
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), values)
    test = written(at_one_place("xgb", [0.0, 10.0, 4.0], keys))
    table = pq.read_table(smooth(test, group="key"))
    assert table["xgb_smoothed"].to_pylist() == [2.0, 10.0, 2.0]
    assert table["key"].equals(pq.read_table(test)["key"])


@pytest.mark.parametrize("values", [decimals(["0.5", "7"], pa.decimal128(9, 1)), pa.array(np.array([0.5, 7], np.float16))], ids=["decimal", "half float"])
def test_24_dictionaries_of_numbers(smooth, written, values):
    test = at_one_place("xgb", [0.0, 0.0], pa.array([1, 2])).set_column(2, "xgb", pa.DictionaryArray.from_arrays(pa.array([1, 0]), values))
    assert pq.read_table(smooth(written(test), group="key"))["xgb_smoothed"].to_pylist() == [7.0, 0.5]


ALIKE = {
    "decimal 1.00 and 1": (decimals(["1.00"], pa.decimal128(38, 2)), pa.array([1])),
    "decimal and float": (decimals(["-0.50"], pa.decimal128(9, 2)), pa.array([-0.5], pa.float32())),
    "decimals of two scales": (decimals([LARGE], pa.decimal128(38, 5)), decimals([LARGE], pa.decimal256(70, 40))),
    "integer and float": (pa.array([2**60]), pa.array([2.0**60])),
    "both zeros": (pa.array([0.0]), pa.array([-0.0])),
    "zero of a half float": (pa.array([0], pa.uint8()), pa.array(np.array([-0.0], np.float16))),
    "text and integer": (pa.array(["1"]), pa.array([1], pa.int8())),
    "text and bytes": (pa.array(["größe"]), pa.array(["größe".encode()])),
    "UUID and text": (pa.array([ID.bytes], pa.binary(16)), pa.array([str(ID)])),
    "moments": (pa.array([1_500], pa.timestamp("ms")), pa.array([1_500_000_000], pa.timestamp("ns", "Asia/Tokyo"))),
    "dates in days and in milliseconds": (pa.array([20_000], pa.date32()), pa.array([20_000], pa.date32()).cast(pa.date64())),
    "date and text": (pa.array([datetime.date(2026, 11, 18)]), pa.array(["2026-11-18"])),
}


@pytest.mark.parametrize("keys", ALIKE.values(), ids=ALIKE)
def test_74_keys_that_are_equal_in_two_types_are_one_group(smooth, written, keys):
    test, train = at_one_place("xgb", [0.0], keys[0]), at_one_place("price", [10.0], keys[1])
    out = smooth(written(test), written(train, "train.parquet"), group="key")
    assert pq.read_table(out)["xgb_smoothed"].to_pylist() == [5.0]


def test_74_both_zeros_in_one_file(smooth, written):
    out = smooth(written(at_one_place("xgb", [0.0, 10.0], pa.array([0.0, -0.0]))), group="key")
    assert pq.read_table(out)["xgb_smoothed"].to_pylist() == [5.0, 5.0]


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_74_not_a_number_is_no_key(refused, written, kind):
    key = pa.array(np.array([1.0, np.nan, 2.0]).astype(kind.to_pandas_dtype()), kind)
    refused("test.parquet", "'key'", "null or NaN at row 1", test=written(at_one_place("xgb", [0.0, 10.0, 1.0], key)), group="key", hint="a group")


# --- index columns ----------------------------------------------------------------------------------------------

STEPS = [0, 100, 200, 100_000, -300]
BASES = {
    "int64": (2**62 + 1, lambda values: pa.array(values)),
    "negative int64": (-(2**62) - 1, lambda values: pa.array(values)),
    "uint64": (2**63 + 12_345, lambda values: pa.array(values, pa.uint64())),
    "decimal(38)": (LARGE * 10**17 + 1, lambda values: decimals(values, pa.decimal128(38, 0))),
    "decimal(76)": (LARGE * 10**55 + 1, lambda values: decimals(values, pa.decimal256(76, 0))),
    "decimal(38, 9)": (LARGE * 10**9, lambda values: decimals(values, pa.decimal128(38, 9))),
    "nanoseconds": (1_763_500_000_123_456_789, lambda values: pa.array(values, pa.timestamp("ns")).cast(pa.int64())),
    "across 2^53": (2**53 - 150, lambda values: pa.array(values)),
}  # fmt: skip


def along(column, places, values):
    return pa.table({"t": places, column: pa.array(values, pa.float64())})


def smoothed(smooth, written, test, train, **flags):
    out = smooth(written(along("xgb", test, [1.0, 20.0, 300.0, 4.0, 5.0])), written(along("price", train, [7.0, 8.0]), "train.parquet"), index="t", **flags)
    return pq.read_table(out)


@pytest.mark.parametrize("sigma", [1, 100])
@pytest.mark.parametrize(("base", "column"), BASES.values(), ids=BASES)
def test_75_places_far_from_zero_are_as_near_zero(smooth, written, base, column, sigma):
    """The same bits as after subtracting the first value by hand; σ = 1 does not mix rows that are 100 apart."""
    train = [50, 120_000]
    expected = smoothed(smooth, written, pa.array(STEPS), pa.array(train), sigma=sigma)["xgb_smoothed"]
    places = column([base + step for step in STEPS])
    found = smoothed(smooth, written, places, column([base + step for step in train]), sigma=sigma)
    assert found["xgb_smoothed"].equals(expected)
    assert found["t"].combine_chunks().equals(places)
    assert sigma > 1 or expected.to_pylist() == [1.0, 20.0, 300.0, 4.0, 5.0]


def test_75_whole_numbers_within_2_53_are_what_floats_are(smooth, written):
    places = [2**53, -(2**53), 2**53 - 3, 5, 0]
    floats, *others = [
        smoothed(smooth, written, pa.array(places, kind), pa.array([3, 2**53 - 9], kind), sigma=3)["xgb_smoothed"]
        for kind in [pa.float64(), pa.int64(), pa.decimal128(38, 0)]
    ]
    assert all(other.equals(floats) for other in others)


def test_75_columns_of_their_own_are_counted_from_their_own(smooth, written):
    """Nanoseconds beside metres, in groups."""
    start, rng = 1_763_500_000_123_456_789, np.random.default_rng(75)
    steps, metres = rng.integers(0, 1000, 200), rng.uniform(0, 1000, 200)

    def rows(times):
        return pa.table({"t": times, "x": metres, "g": pa.array(np.arange(200) % 2), "xgb": np.arange(200.0)})

    near, far = (
        pq.read_table(smooth(written(rows(times)), index="t,x", group="g", sigma=50))["xgb_smoothed"].to_numpy()
        for times in [pa.array(steps - steps[0]), pa.array(start + steps)]
    )
    assert (near == far).all()


@pytest.mark.parametrize("role", ["test", "train"])
def test_75_a_spread_that_no_float_holds(refused, written, role):
    """The first row determines the origin; the second differs from it by an odd number beyond 2^53."""
    rows = {"test": [2**60 + 1, 2**60 + 2, 2**60, 2**60 + 5, 2**60 + 3], "train": [2**60, 2**60 + 4]}
    rows[role][1] = 2**62 + 2
    flags = {
        "test": written(along("xgb", pa.array(rows["test"]), range(5))),
        "train": written(along("price", pa.array(rows["train"]), range(2)), "train.parquet"),
    }
    refused(f"{role}.parquet", "'t'", str(2**62 + 2), "row 1", index="t", sigma=1, label="price", hint="subtract one number", **flags)


def test_75_decimals_with_more_digits_than_floats(refused, written):
    places = decimals(["1.5", "2.000000000000000000001"], pa.decimal128(38, 30))
    refused("'t'", "2.000000000000000000001 at row 1", test=written(along("xgb", places, range(2))), index="t", sigma=1, hint="make it a double")


def test_75_streamed(binary, tmp_path):
    """Parts that are read one after the other have the same origin."""
    rng, n = np.random.default_rng(53), 400_000
    steps, base = np.sort(rng.integers(0, 10**12, n)), 2**62 + 1
    values = rng.normal(100.0, 10.0, n)
    found = {}
    for name, times in {"near": steps - steps[0], "far": base + steps}.items():
        pq.write_table(along("xgb", pa.array(times), values), tmp_path / "test.parquet", row_group_size=70_000)
        pq.write_table(along("price", pa.array(times[::2] + 1), values[::2]), tmp_path / "train.parquet")
        flags = {"test": tmp_path / "test.parquet", "train": tmp_path / "train.parquet", "label": "price", "index": "t", "sigma": 10**7, "c": 1}
        flags |= {"memory_limit": "64MiB", "output": tmp_path / f"{name}.parquet", "prediction": "xgb", "json": True}
        process = run(binary, flags)
        assert process.returncode == 0 and json.loads(process.stdout)["streamed"], process.stderr
        found[name] = pq.read_table(tmp_path / f"{name}.parquet")["xgb_smoothed"]
    assert found["near"].equals(found["far"])
