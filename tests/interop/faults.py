"""Faults that a machine may have: small disks, limits, signals; and what must be true after any of them."""

import contextlib
import os
import resource
import signal
import subprocess
import time

import pytest

from damage import EARLIER, environment

INTERRUPTED = {signal.SIGINT: 130, signal.SIGTERM: 143}
PATIENCE = 120  # seconds: guards against hanging, on a machine with much else to do


@contextlib.contextmanager
def mounted(folder, options):
    """A small file system of its own in a folder."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def limited(**limits):
    """Sets limits of the process to be, such as AS=10**9 or NOFILE=5."""

    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return set_limits


def started(command, **options):
    """Starts a command and waits until it attends to signals, or has ended."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | options
    process = subprocess.Popen([str(part) for part in command], **options)
    while process.poll() is None and not attends(process.pid):
        time.sleep(1e-4)
    return process


def attends(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/status") as status:
            caught = next((line for line in status if line.startswith("SigCgt:")), "SigCgt: 0")
        return int(caught.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1
    return True


def ended_by(process, number):
    """Sends a signal; says whether it ended the process, which must be as promised, or came too late."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    said = [line for line in err.decode().splitlines() if not line.startswith("warning: ")]
    if process.returncode == 0:
        return False
    assert (process.returncode, said) == (INTERRUPTED[number], ["error: interrupted"]), (process.returncode, err)
    return True


def assert_earlier_or_whole(out, interrupted, whole):
    """An output is the earlier one or the whole new one, and that only if the signal came after it took its name; says whether it is the earlier one."""
    found = out.read_bytes()
    # Not compared in the assertion itself, which would show all bytes.
    is_earlier, is_whole = found == EARLIER, found == whole
    assert is_whole or (interrupted and is_earlier)
    return is_earlier


def left_behind(*folders):
    """Temporary files and folders that are still there."""
    return [path for folder in folders for path in folder.rglob(".geosmooth-*")]


def peak(pid):
    """The most memory that a process ever held, in bytes."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")), 0)
    return 0


def moments(duration, count):
    """Some moments in a run of this duration, the same in every test run."""
    return [duration * (number + 0.5) / count for number in range(count)]


def repeats():
    """How many times as often as usual faults are tried: `make faults` asks for more."""
    return int(os.environ.get("GEOSMOOTH_FAULTS", "1"))
