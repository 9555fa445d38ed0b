"""Runs the examples of the docstrings and of the pages, from the root of the repository."""

import doctest
import importlib
import os
import pkgutil
import re
import sys
from pathlib import Path

import geosmooth

REPOSITORY = Path(__file__).parents[2]


def docstrings():
    """Failures and examples in the docstrings of the installed package."""
    names = [module.name for module in pkgutil.iter_modules(geosmooth.__path__)]
    modules = [geosmooth, *(importlib.import_module(f"geosmooth.{name}") for name in names)]
    return [doctest.testmod(module) for module in modules]


def page():
    """Failures and examples of the package's own page."""
    return doctest.testfile(str(REPOSITORY / "python" / "README.md"), module_relative=False, encoding="utf-8")


def readme():
    """Runs the README's example in Python as it is written."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    results = [*docstrings(), page()]
    readme()
    failed, attempted = sum(result.failed for result in results), sum(result.attempted for result in results)
    print(f"{attempted - failed} of {attempted} examples pass")
    sys.exit(failed > 0 or attempted == 0)
