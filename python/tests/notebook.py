"""Runs the notebook. `--keep` writes what it shows; otherwise the scores that it prints must be those that are kept."""

import copy
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "house_sales.ipynb"


NEAR = 0.005
"""Trees that are grown on another machine may differ by so much of R²."""


def scores(notebook):
    """The scores in the tables of R²."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = [output.get("data", {}).get("text/plain", "") for output in outputs]
    return [float(score) for text in printed if "Name: R²" in text for score in re.findall(r"\b0\.\d+", text)]


def alike(first, second):
    return len(first) == len(second) > 0 and all(abs(a - b) <= NEAR for a, b in zip(first, second, strict=True))


if __name__ == "__main__":
    kept = nbformat.read(NOTEBOOK, as_version=4)
    run = NotebookClient(copy.deepcopy(kept), timeout=600, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()
    if "--keep" in sys.argv:
        for cell in run.cells:
            cell.get("metadata", {}).pop("execution", None)
        nbformat.write(run, NOTEBOOK)
    elif not alike(scores(run), scores(kept)):
        sys.exit(f"{NOTEBOOK.name} shows other scores than those it keeps:\n{scores(run)}\n{scores(kept)}")
