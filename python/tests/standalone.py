"""A cluster of its own: a master and two workers that are two machines to Spark, since each has an address of its own. Copies of slow tasks are only
ever started on another machine."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

PATIENCE = 120
HOSTS = ("127.0.0.2", "127.0.0.3")
CORES = 2
"""Of each machine: with one, slow tasks of two stages that run at once could hold both machines, and no copy of them could start."""


@contextmanager
def cluster(folder):
    """The address of the master of a cluster that keeps its files in a folder."""
    (folder / "hosts").write_text("".join(f"{host} {name}\n" for host, name in names().items()))
    # No network is asked for names, which may take minutes to say that there is none.
    os.environ["JAVA_TOOL_OPTIONS"] = f"-Djdk.net.hosts.file={folder / 'hosts'}"
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    started = [start(folder / "master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
    try:
        for host in HOSTS:
            options = ["--host", host, "--cores", str(CORES), "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / host)]
            started.append(start(folder / f"log of {host}", "worker.Worker", *options, address))
        begun = time.monotonic()
        while len(re.findall("Registering worker", (folder / "master").read_text())) < len(HOSTS):
            assert all(process.poll() is None for process in started) and time.monotonic() < begun + PATIENCE
            time.sleep(0.1)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(PATIENCE)
        del os.environ["JAVA_TOOL_OPTIONS"]


def names():
    """Names of all machines, this one among them."""
    return {"127.0.0.1": f"localhost {socket.gethostname()}"} | {host: f"worker-{host[-1]}" for host in HOSTS}


def free_port():
    with socket.socket() as here:
        here.bind(("127.0.0.1", 0))
        return here.getsockname()[1]


def start(log, name, *options):
    """A part of a cluster, which is a Java process that takes its place."""
    home = Path(pyspark.__file__).parent
    words = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    with open(log, "wb") as file:
        return subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=environment())


def environment():
    """That of this process, with Python as here, and addresses that need no names."""
    python = {name: sys.executable for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    return os.environ | python | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(Path(pyspark.__file__).parent)}


def run(script, *arguments):
    """What a script of this folder prints. It has a session of its own, which no two can have in one process."""
    here = Path(__file__).parent
    words = [sys.executable, str(here / script), *map(str, arguments)]
    process = subprocess.run(words, capture_output=True, text=True, timeout=2 * PATIENCE, env=environment(), cwd=here)
    assert process.returncode == 0, process.stderr
    return process.stdout
