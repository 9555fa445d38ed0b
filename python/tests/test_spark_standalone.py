"""What cannot be tried on the cluster of the other tests: tasks that run twice at once, and Spark Connect."""

import importlib.util
import os
import sys

import pytest
from cluster import why_not
from standalone import cluster, run


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a cluster of two machines."""
    reason = why_not() or ("machines have one address here" if sys.platform != "linux" else None)
    if reason and os.environ.get("GEOSMOOTH_DEMANDS_SPARK"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with cluster(tmp_path_factory.mktemp("cluster")) as address:
        yield address


def test_copies_of_slow_tasks(address, tmp_path):
    """Issue 15: tasks that count, that send rows to tiles and that smooth tiles are slow when they are first tried, a copy of each is started beside it and done
    first, and nobody can tell from the result."""
    run("speculating.py", address, tmp_path)
    noted = sorted(path.name for path in tmp_path.iterdir())
    assert "somebody woke up" not in noted, noted
    slow, copies = ({name.rpartition(" attempt ")[0] for name in noted if name.endswith(f"attempt {number}")} for number in (0, 1))
    assert {"sending", "smoothing"} == {name.split()[0] for name in slow & copies}, noted


@pytest.mark.skipif(
    importlib.util.find_spec("grpc_status") is None and not os.environ.get("GEOSMOOTH_DEMANDS_SPARK"), reason="Spark Connect needs grpcio"
)
def test_spark_connect(address):
    """Issue 15: a client that has a connection and no Spark."""
    run("connected.py", address)
