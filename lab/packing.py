"""The agent with static kernels inside: the same program in every system."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.servers import ROOT

KERNELS: Final = ("linpack", "memory")
FLAGS: Final = ("-O2", "-std=c99", "-static")


def pack_agent(folder: Path) -> Path:
    """Compile our kernels here, once for all systems, and pack the agent with them."""
    binaries = folder / "binaries"
    binaries.mkdir(parents=True, exist_ok=True)
    said = " ".join(("gcc", *FLAGS))
    for kernel in KERNELS:
        _run(
            *("gcc", *FLAGS, "-s", f'-DVIRTLAB_FLAGS="{said}"'),
            *("-o", str(binaries / f"{kernel}-linux-x86_64")),
            str(ROOT / "agents" / "kernels" / f"{kernel}.c"),
        )
    agent = folder / "virtlab-agent.pyz"
    _run(
        *(sys.executable, "-m", "agents.build", str(agent)),
        *("--with-binaries", str(binaries)),
    )
    return agent


def _run(*argv: str) -> None:
    done = subprocess.run(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise LabError(f"{argv[0]} failed: {done.stderr.strip()[-1000:]}")
