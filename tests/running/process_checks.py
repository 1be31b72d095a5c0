"""Wait for states of processes and files, with a deadline."""

import time
from collections.abc import Callable

import psutil


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(is_done: Callable[[], object], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_done():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def wait_until_gone(*pids: int, timeout_s: float = 60) -> None:
    wait_until(lambda: not any(map(is_alive, pids)), timeout_s)
