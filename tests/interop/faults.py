"""Faults of a machine: small disks, limits, signals; and checks that must hold after each of them."""

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
    """Mounts a small file system at a folder."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def limited(**limits):
    """Sets limits of the new process, such as AS=10**9 or NOFILE=5."""

    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return set_limits


def started(command, **options):
    """Starts a command and waits until it handles signals or has ended."""
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
    """Sends a signal. Returns whether it ended the process, in the documented way, or came too late."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    said = [line for line in err.decode().splitlines() if not line.startswith("warning: ")]
    if process.returncode == 0:
        return False
    assert (process.returncode, said) == (INTERRUPTED[number], ["error: interrupted"]), (process.returncode, err)
    return True


def assert_earlier_or_whole(out, interrupted, whole):
    """The output must be the earlier one or the complete new one, the latter only if the signal came after it got its name. Returns whether it is the earlier one."""
    found = out.read_bytes()
    # Not compared in the assertion itself, which would show all bytes.
    is_earlier, is_whole = found == EARLIER, found == whole
    assert is_whole or (interrupted and is_earlier)
    return is_earlier


def left_behind(*folders):
    """Temporary files and folders that still exist."""
    return [path for folder in folders for path in folder.rglob(".geosmooth-*")]


def peak(pid):
    """The peak memory of a process in bytes."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")), 0)
    return 0


def moments(duration, count):
    """Some points in time within a run of this duration, the same in every test run."""
    return [duration * (number + 0.5) / count for number in range(count)]


def repeats():
    """The factor for the number of faults to try: `make faults` sets a larger one."""
    return int(os.environ.get("GEOSMOOTH_FAULTS", "1"))
