"""Requests to the core: keywords as arguments of the command line, tables and texts beside them."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from geosmooth._tables import as_arrow, settled

Progress: TypeAlias = bool | Callable[[str, int, int], object]
"""`True` for a bar on stderr, or a function that is called with the phase, the steps done and the steps in all."""

REPEATED = {"prediction", "train_prediction", "index", "engines"}
"""Options that are given once for each item; the items of all other lists are separated by commas."""


ABOUT_RESULTS = {"details", "surface"}
"""Keywords that the command line does not have: what is to come back."""


class GeosmoothWarning(UserWarning):
    """Something that the command line would have warned of."""


class Request:
    """What one call asks for: the arguments of a function by name, of which some are tables.

    Names are the options of the command line, with underscores instead of hyphens.
    """

    def __init__(self, given: Mapping[str, Any], tables: Sequence[str]) -> None:
        self.settled: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.arguments: list[str] = []
        options = {name: value for name, value in given.items() if name not in ABOUT_RESULTS}
        progress: Progress = options.pop("progress")
        self.progress = bar if progress is True else (progress or None)
        for role in tables:
            self.add_table(role, options.pop(role))
        self.add_parameters(options.pop("params", None))
        for name, value in options.items():
            self.add_option(name, value)

    def add_table(self, role: str, table: Any) -> None:
        if table is None:
            return
        if isinstance(table, (str, os.PathLike)):
            self.arguments.append(f"--{role}={os.fspath(table)}")
            return
        self.settled[role] = settled(table)
        self.tables[f"<{role}>"] = as_arrow(self.settled[role])
        self.arguments.append(f"--{role}=<{role}>")

    def add_parameters(self, params: Any) -> None:
        if isinstance(params, (str, os.PathLike)):
            self.arguments.append(f"--params={os.fspath(params)}")
        elif params is not None:
            parameters = getattr(params, "parameters", params)
            self.texts["<params>"] = json.dumps(parameters)
            self.arguments.append("--params=<params>")

    def add_option(self, name: str, value: Any) -> None:
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            return
        if value is True:
            self.arguments.append(flag)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            items = [word(item) for item in value]
            self.arguments += [f"{flag}={item}" for item in (items if name in REPEATED else [",".join(items)])]
        else:
            self.arguments.append(f"{flag}={word(value)}")

    def run(self, work: Callable[..., dict[str, Any]], *more: Any) -> dict[str, Any]:
        """Hands the request to a function of the core, and passes its warnings on to whoever called us."""
        asked = {"arguments": self.arguments, "tables": self.tables, "texts": self.texts, "progress": self.progress}
        try:
            result = work(asked, *more)
        finally:
            if self.progress is bar:
                print(file=sys.stderr)
        for message in result["warnings"]:
            warnings.warn(message, GeosmoothWarning, stacklevel=3)
        return result


def word(value: Any) -> str:
    """A value as it would be typed: numbers with all their digits, paths as they are."""
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


WIDTH = 40


def bar(phase: str, done: int, total: int) -> None:
    """Draws a line of progress."""
    part = min(done / total, 1.0) if total else 0.0
    filled = int(WIDTH * part)
    print(f"\r{phase:>6} [{'=' * filled}{' ' * (WIDTH - filled)}] {100 * part:3.0f} %", end="", file=sys.stderr, flush=True)
