"""Counting and cutting by themselves: what a cluster does, in one process."""

import pickle

import numpy as np
import pytest

from geosmooth._core import Census, Checksums, GroupMoments, Partition, bytes_of, lat_lon_names

HOME, GUEST, _ = range(3)
SETTINGS = {"c": 1.0, "label_weight": 1.0, "tolerance": 1e-6, "certificate": False, "memory": 1 << 30, "threads": 1}


def cut(counted, memory, tile_groups=False):
    return Partition(counted, SETTINGS, [(-5.0, 5.0)], memory, tile_groups)


def some_rows(count, seed, groups=None):
    random = np.random.default_rng(seed)
    return {"axes": [random.uniform(0, 100, count) for _ in range(2)], "groups": groups, "values": []}


def census(*parts):
    counted = Census("1", 2)
    for part in parts:
        counted.add(part, False)
    return counted


def test_pickled_parts_are_the_whole():
    parts = [some_rows(1000, seed) for seed in range(3)]
    joined = census(parts[2])
    for part in parts[:2]:
        joined.join(pickle.loads(pickle.dumps(census(part))))
    whole = census(*parts)
    assert joined.rows == whole.rows == (3000, 0)
    tiles = [cut(counted, 200_000).tiles for counted in (joined, whole)]
    assert tiles[0] == tiles[1] and len(tiles[0]) > 3


def test_a_pickled_partition_sends_rows_to_the_same_tiles():
    rows = some_rows(1000, 5)
    partition = cut(census(rows), 200_000)
    there = pickle.loads(pickle.dumps(partition))
    for mine, theirs in zip(partition.memberships(rows, False, None), there.memberships(rows, False, None), strict=True):
        assert np.array_equal(mine, theirs)
    row, _, role = partition.memberships(rows, False, None)
    assert sorted(row[role == HOME]) == list(range(1000))


def test_turns_deal_out_the_rows_of_a_place():
    rows = {"axes": [np.ones(1000), np.ones(1000)], "groups": None, "values": []}
    partition = cut(census(rows), 300_000)
    assert partition.deals and len(partition.tiles) > 1
    homes = []
    for turn in (0, 1):
        _, tile, role = partition.memberships(rows, False, np.full(1000, turn))
        homes.append(set(tile[role == HOME]))
    assert len(homes[0]) == len(homes[1]) == 1 and homes[0] != homes[1]


def test_a_tile_group_shares_its_sources():
    random = np.random.default_rng(8)
    town = {"axes": [random.normal(0, 2, 3000) for _ in range(2)], "groups": None, "values": [random.normal(0, 1, 3000)]}
    counted = census(town)
    with pytest.raises(MemoryError, match="a tile with all rows that reach it"):
        cut(counted, 400_000)
    partition = pickle.loads(pickle.dumps(cut(counted, 400_000, tile_groups=True)))
    assert partition.deals and partition.multiplications > 0
    ((first, end),) = partition.tile_groups
    row, tile, role = partition.memberships(town, False, np.arange(3000))
    assert (sorted(row), end - first) == (list(range(3000)), len(partition.tiles)) and (role == HOME).all()
    group, moments = partition.tile_group(0), GroupMoments()
    for which in range(first, end):
        part = town | {name: [values[row[tile == which]] for values in town[name]] for name in ("axes", "values")}
        moments.add(group, which, HOME, part)
    field, seen = pickle.loads(pickle.dumps(moments)).field(group), Checksums()
    seen.add(part, False)
    field.check(end - 1, seen)
    with pytest.raises(ValueError, match="when they were counted"):
        field.check(end - 1, Checksums())
    bounds = field.smooth(group, 1.0, part)["bounds"][0]
    assert len(bounds) == (tile == end - 1).sum() and bounds.max() <= 1e-5


def test_rows_that_are_not_those_that_were_counted_are_not_added_up():
    random = np.random.default_rng(9)
    town = {"axes": [random.normal(0, 2, 3000) for _ in range(2)], "groups": None, "values": [random.normal(0, 1, 3000)]}
    group, moments = cut(census(town), 400_000, tile_groups=True).tile_group(0), GroupMoments()
    moments.add(group, 0, GUEST, {**town, "values": [town["values"][0] + 1e-9]})
    with pytest.raises(ValueError, match="when they were counted"):
        moments.field(group)


def test_rows_that_were_not_counted():
    partition = cut(census(some_rows(100, 6)), 200_000)
    elsewhere = {"axes": [np.array([-500.0]), np.array([0.0])], "groups": None, "values": []}
    with pytest.raises(ValueError, match="a row is where none was counted\nhint: "):
        partition.memberships(elsewhere, False, None)


def test_refusals():
    with pytest.raises(MemoryError, match="a tile with all rows that reach it"):
        cut(census(some_rows(1000, 7)), 100)
    with pytest.raises(ValueError, match="bytes of another version"):
        Census.unpickled(b"")
    with pytest.raises(ValueError, match="is not a positive length"):
        Census("one", 2)
    assert bytes_of("2KiB") == 2048


def test_usual_names_of_coordinates_in_any_case():
    assert lat_lon_names(["id", "LON", "Lat", "lat"]) == ("Lat", "LON")
    assert lat_lon_names(["lat", "easting"]) is None
