"""A supervised product of dummy processes: `dummy_product.py FOLDER [BEHAVIOUR]`.

Each dummy writes its pid when it starts and its name when it is asked to stop.
"""

import signal
import sys
from pathlib import Path

from running.processes import Child, Program
from running.supervision import Supervision
from running.supervisor import run_supervised

DUMMY = """
import os, signal, subprocess, sys, time
folder, name, behaviour = sys.argv[1:]

def stop(*_):
    with open(folder + "/stopped", "a") as file:
        file.write(name + "\\n")
    if behaviour != "stubborn":
        sys.exit(0)

signal.signal(signal.SIGTERM, stop)
orphan = subprocess.Popen(["sleep", "120"], start_new_session=behaviour == "orphans")
for what, pid in ((name, os.getpid()), (name + "-child", orphan.pid)):
    with open(f"{folder}/{what}.new", "w") as file:
        file.write(str(pid))
    os.rename(f"{folder}/{what}.new", f"{folder}/{what}.pid")
while True:
    time.sleep(60)
"""


def dummy(folder: Path, name: str, behaviour: str) -> Child:
    """Return a process that runs forever and has a child itself."""
    command = [sys.executable, "-c", DUMMY, str(folder), name, behaviour]
    log = folder / f"{name}.log"
    death = signal.SIGTERM if name == "web" else signal.SIGKILL
    return Child(Program(name, command, log=log, death_signal=death))


def work(supervision: Supervision) -> None:
    """Run three dummies until a stop is requested."""
    folder, behaviour = Path(sys.argv[1]), sys.argv[2]
    children = [dummy(folder, name, behaviour) for name in ("web", "worker", "sweeper")]
    for child in children:
        child.start()
    supervision.add(*children)
    try:
        supervision.run_until(lambda: False, float("inf"))
    finally:
        supervision.stop()
        supervision.kill_leftovers()


if __name__ == "__main__":
    sys.exit(run_supervised(work))
