"""Counting and cutting by themselves: what a cluster does, in one process."""

import pickle

import numpy as np
import pytest

from geosmooth._core import Census, Moments, Partition, bytes_of


def some_rows(count, seed, groups=None):
    random = np.random.default_rng(seed)
    return {"axes": [random.uniform(0, 100, count) for _ in range(2)], "groups": groups, "values": []}


def census(*parts):
    counted = Census("1", 2)
    for part in parts:
        counted.add(part, False)
    return counted


def test_parts_that_travelled_are_the_whole():
    parts = [some_rows(1000, seed) for seed in range(3)]
    joined = census(parts[2])
    for part in parts[:2]:
        joined.join(pickle.loads(pickle.dumps(census(part))))
    whole = census(*parts)
    assert joined.rows == whole.rows == (3000, 0)
    cut = [Partition(counted, 1.0, 1e-6, 200_000, 1, False) for counted in (joined, whole)]
    assert cut[0].tiles == cut[1].tiles and len(cut[0].tiles) > 3


def test_a_partition_that_travelled_sends_rows_to_the_same_tiles():
    rows = some_rows(1000, 5)
    partition = Partition(census(rows), 1.0, 1e-6, 200_000, 1, False)
    there = pickle.loads(pickle.dumps(partition))
    for mine, theirs in zip(partition.memberships(rows, False, None), there.memberships(rows, False, None), strict=True):
        assert np.array_equal(mine, theirs)
    row, _, home = partition.memberships(rows, False, None)
    assert sorted(row[home]) == list(range(1000))


def test_turns_deal_out_a_crowd():
    rows = {"axes": [np.ones(1000), np.ones(1000)], "groups": None, "values": []}
    partition = Partition(census(rows), 1.0, 1e-6, 300_000, 1, False)
    assert partition.deals and len(partition.tiles) > 1
    homes = []
    for turn in (0, 1):
        _, tile, home = partition.memberships(rows, False, np.full(1000, turn))
        homes.append(set(tile[home]))
    assert len(homes[0]) == len(homes[1]) == 1 and homes[0] != homes[1]


def test_a_crowd_shares_its_sources():
    random = np.random.default_rng(8)
    town = {"axes": [random.normal(0, 2, 3000) for _ in range(2)], "groups": None, "values": [random.normal(0, 1, 3000)]}
    counted, asked = census(town), (1.0, 1e-6, 400_000)
    with pytest.raises(MemoryError, match="a tile with all rows that reach it"):
        Partition(counted, *asked, 1, False)
    partition = pickle.loads(pickle.dumps(Partition.with_tile_groups(counted, *asked, [(-5.0, 5.0)], False)))
    assert partition.deals and partition.multiplications > 0
    ((first, end),) = partition.tile_groups
    row, tile, home = partition.memberships(town, False, np.arange(3000))
    assert (sorted(row), end - first) == (list(range(3000)), len(partition.tiles)) and home.all()
    blueprint, moments = partition.blueprint(0), Moments()
    for which in range(first, end):
        part, guests = (town | {name: [values[rows] for values in town[name]] for name in ("axes", "values")}
                        for rows in np.split(row[tile == which], [100]))  # fmt: skip
        moments.add(blueprint, part, False)
        moments.add_guests(blueprint, guests)
    bounds = moments.field(blueprint).smooth(blueprint, 1.0, part)["bounds"][0]
    assert len(bounds) == 100 and bounds.max() <= 1e-5


def test_rows_that_were_not_counted():
    partition = Partition(census(some_rows(100, 6)), 1.0, 1e-6, 200_000, 1, False)
    elsewhere = {"axes": [np.array([-500.0]), np.array([0.0])], "groups": None, "values": []}
    with pytest.raises(ValueError, match="a row is where none was counted\nhint: "):
        partition.memberships(elsewhere, False, None)


def test_refusals():
    with pytest.raises(MemoryError, match="a tile with all rows that reach it"):
        Partition(census(some_rows(1000, 7)), 1.0, 1e-6, 100, 1, False)
    with pytest.raises(ValueError, match="bytes of another version"):
        Census.unpickled("1", b"")
    with pytest.raises(ValueError, match="is not a positive length"):
        Census("one", 2)
    assert bytes_of("2KiB") == 2048
