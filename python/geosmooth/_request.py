"""Requests to the core: keywords as they were given, with tables that Arrow can look at."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from geosmooth._tables import as_arrow, settled

Progress: TypeAlias = bool | Callable[[str, int, int], object]
"""`True` for a bar on stderr, or a function that is called with the phase, the steps done and the steps in all."""


class GeosmoothWarning(UserWarning):
    """Something that the command line would have warned of."""


class Request:
    """What one call asks for: the arguments of a function by name, of which some are tables."""

    def __init__(self, given: Mapping[str, Any], tables: Sequence[str]) -> None:
        self.settled: dict[str, Any] = {}
        progress: Progress = given["progress"]
        self.progress = bar if progress is True else (progress or None)
        self.options = {**given, "progress": self.progress}
        for role in tables:
            self.options[role] = self.dataset(role, given[role])
        params = given.get("params")
        self.options["params"] = getattr(params, "parameters", params)

    def dataset(self, role: str, table: Any) -> Any:
        """A path as it is; a table as Arrow sees it."""
        if table is None or isinstance(table, (str, os.PathLike)):
            return table
        self.settled[role] = settled(table)
        return as_arrow(self.settled[role])

    def run(self, work: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Hands the request to a function of the core, and passes its warnings on to the caller."""
        try:
            result = work(self.options)
        finally:
            if self.progress is bar:
                print(file=sys.stderr)
        for message in result["warnings"]:
            warnings.warn(message, GeosmoothWarning, stacklevel=3)
        return result


WIDTH = 40


def bar(phase: str, done: int, total: int) -> None:
    """Draws a line of progress."""
    part = min(done / total, 1.0) if total else 0.0
    filled = int(WIDTH * part)
    print(f"\r{phase:>6} [{'=' * filled}{' ' * (WIDTH - filled)}] {100 * part:3.0f} %", end="", file=sys.stderr, flush=True)
