"""The table of bad inputs: the meaning of each number, the outcome of its tests, and the number of inputs tried.

As a plugin of pytest (`-p cases`) it runs only tests that have a number, such as `test_07_…` or `test_01_to_05_…`, and adds their
outcomes to the file that CASES names. As a program it prints the table, and fails where a number has no test or a bad outcome.
"""

import json
import os
import re
import sys
from collections import Counter

CASES = {
    1: "empty file",
    2: "eleven bytes",
    3: "CSV renamed",
    4: "trailing magic missing",
    5: "footer length 0, beyond the file, 0xFFFFFFFF",
    6: "truncated at 1,000 places",
    7: "10,000 random byte flips for each codec",
    8: "page header claiming 2 GiB",
    9: "a few kB that unpack to terabytes",
    10: "schema 500,000 levels deep",
    11: "a million row groups",
    12: "wrong page checksum",
    13: "encrypted footer",
    14: "a codec we lack, named",
    15: "num_rows that disagrees with the pages",
    16: "no row groups",
    17: "a row group without rows",
    18: "every encoding, v1 and v2 pages",
    19: "garbage in the embedded Arrow schema",
    20: "column absent",
    21: "duplicate names",
    22: "one column for both coordinates",
    23: "text where a number is needed",
    24: "numbers of every type",
    25: "list or struct as value",
    26: "names of any kind and length",
    27: "output column exists already",
    28: "several files with different schemas",
    29: "exotic columns kept bit by bit",
    30: "null, NaN, ±inf in predictions or labels",
    31: "±1e308 without overflow",
    32: "subnormals, −0.0",
    33: "all equal: bit-equal out",
    34: "1e16 plus small differences",
    35: "whole column null",
    36: "label weight 0, negative, NaN",
    37: "off the earth, or swapped",
    38: "longitudes −180…180 and 0…360 mixed",
    39: "neighbours across the date line",
    40: "both poles",
    41: "null or NaN coordinate",
    42: "ten million rows at one place",
    43: "one row; two rows",
    44: "all on a line; on an exact grid",
    45: "one outlier 10⁹ σ away",
    46: "an isolated row 6σ from a great city",
    47: "antipodes with a huge σ",
    48: "projected metres given as degrees",
    49: "rows shuffled",
    50: "GeoParquet: non-points, nulls, Z, another CRS",
    51: "σ that is no length",
    52: "σ = 1e-9 m and 1e9 m",
    53: "tolerance out of range",
    54: "c outside [0, 1]",
    55: "threads 0, a million",
    56: "memory limit too small",
    57: "flags that contradict each other",
    58: "arguments that are not UTF-8",
    59: "a params file from elsewhere",
    60: "missing, directory, FIFO, device, no permission",
    61: "output = input, also through links",
    62: "output folder missing or read-only",
    63: "disk full in the middle and at the end",
    64: "temporary and final on different devices",
    65: "input changed during the run",
    66: "a glob that matches nothing",
    67: "closed stdout",
    68: "kill -9",
    69: "two runs to one output",
    70: "address-space, file-size and file-count limits",
    71: "Ctrl-C or SIGTERM in each phase",
    72: "one core, 64 threads, no AVX2",
    73: "Python: arrays, KeyboardInterrupt, fork",
    74: "group keys of every type",
    75: "index columns beyond 2^53",
    80: "more row groups than one output holds",
    81: "a million pairs of metadata; very long ones",
    82: "thousands of columns and row groups; all pairs",
    83: "split values of a wrong length",
    84: "GeoParquet of an unknown encoding",
    85: "JSON in which a key stands twice",
    90: "hidden files among the inputs",
    91: "permissions and owners of outputs",
    92: "control groups with a limit on memory",
    93: "names that command a terminal",
    94: "disks that fail to read, folders that cannot be listed",
    95: "outputs of one run that meet each other or an input",
    96: "every other signal that ends a process",
    97: "what a killed run left",
}
NUMBER = re.compile(r"test_(\d\d)(?:_to_(\d\d))?_")


def numbers(name):
    """The numbers of a test."""
    found = NUMBER.match(name)
    if not found:
        return []
    first, last = int(found[1]), int(found[2] or found[1])
    return list(range(first, last + 1))


# --- the plugin -------------------------------------------------------------------------------------------------


def pytest_collection_modifyitems(config, items):
    others = [item for item in items if not numbers(item.originalname)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if numbers(item.originalname)]


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        name = report.nodeid.rsplit("::", 1)[-1]
        tried = sum(count for key, count in report.user_properties if key == "inputs") or 1
        with open(os.environ["CASES"], "a") as file:
            file.write(json.dumps({"numbers": numbers(name), "outcome": report.outcome, "inputs": tried}) + "\n")


# --- the program ------------------------------------------------------------------------------------------------


def main(path):
    with open(path) as file:
        reports = [json.loads(line) for line in file]
    bad = 0
    print(f"{'':>2}  {'what':<50} {'outcome':<22} {'inputs':>7}")
    for number, what in CASES.items():
        about = [report for report in reports if number in report["numbers"]]
        outcomes = Counter(report["outcome"] for report in about)
        green = outcomes["passed"] > 0 and outcomes["failed"] == 0
        bad += not green
        outcome = ("ok" if green else "FAILED") if outcomes["passed"] + outcomes["failed"] else "NO TEST"
        if outcomes["skipped"]:
            outcome += f", {outcomes['skipped']} skipped"
        tried = sum(report["inputs"] for report in about if report["outcome"] == "passed")
        print(f"{number:>2}  {what:<50} {outcome:<22} {tried:>7,}")
    tried = sum(report["inputs"] for report in reports if report["outcome"] == "passed")
    print(f"{len(CASES) - bad} of {len(CASES)} cases ok, {tried:,} inputs tried")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
