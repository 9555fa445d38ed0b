"""Which job does the work: tiles, which move rows, or moments, which move none but cost more arithmetic where σ is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from geosmooth.spark._count import MOST_GROUPS, Tally
from geosmooth.spark._moments import Moments, group_of_all
from geosmooth.spark._request import Problem
from geosmooth.spark._tiles import Tiles, cut
from geosmooth.spark._tree import tasks

if TYPE_CHECKING:
    from geosmooth._core import Partition, TileSettings

Job: TypeAlias = Tiles | Moments

MULTIPLICATIONS_PER_COPY = 14_000.0
"""Multiplications on lattices that take as long as one row in one tile, roughly: an estimate from whole jobs (benches/results/2026-11-18-spark-avx512.md), less
some 2.5 s for reading and writing that was not measured apart. That leaves 10 s for 2.4 million copies in tiles, and 3 s for 1e10 multiplications."""


def job(problem: Problem, tally: Tally, which: int, settings: TileSettings) -> Job:
    """The job for one of the σ that were counted for: by moments where that is less work, or tiles would not fit."""
    census, ranges = tally.censuses[which], tally.sources(problem.predictions, problem.label)
    listed = len(tally.groups) <= MOST_GROUPS
    groups = sorted(tally.groups) if listed else []
    whole = group_of_all(census, settings, ranges) if listed else None
    by_moments = None if whole is None else Moments(problem, whole, settings, groups, census.checksums.with_label_weight(0.0))
    try:
        partition = cut(census, settings, ranges, tasks(problem.test.sparkSession), tile_groups=listed)
    except MemoryError:
        if by_moments is None:
            raise
        return by_moments
    if by_moments is not None and by_moments.group.multiplications <= work(partition):
        return by_moments
    return Tiles(problem, partition, settings, groups)


def work(partition: Partition) -> float:
    """What all tiles take, in multiplications on lattices."""
    return MULTIPLICATIONS_PER_COPY * partition.copies + partition.multiplications
