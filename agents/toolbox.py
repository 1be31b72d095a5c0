"""Benchmark programs: which are installed, and which package has the others."""

import shutil
from typing import List, NamedTuple, Optional


class Program(NamedTuple):
    """A tool that Virtlab can read, its program, and its package in Debian."""

    tool: str
    program: str
    package: str

    @property
    def path(self) -> Optional[str]:
        return shutil.which(self.program)

    @property
    def advice(self) -> str:
        """Say how to install it on Debian or Ubuntu."""
        if not self.package:
            return "build it from source"
        return "apt install " + self.package


class Kernel(Program):
    """One of our own, whose program is compiled where it runs."""

    __slots__ = ()

    @property
    def path(self) -> Optional[str]:
        """Return its compiler, or where its program came with."""
        from agents.kernels.building import find_compiler, prebuilt_program

        kernel = self.tool.partition("-")[2]
        inside = "inside the agent" if prebuilt_program(kernel) else None
        return find_compiler() or inside


PROGRAMS = (
    Program("ab", "ab", "apache2-utils"),
    Program("bonnie", "bonnie++", "bonnie++"),
    Program("dbench", "dbench", "dbench"),
    Program("fio", "fio", "fio"),
    Program("hackbench", "hackbench", "rt-tests"),
    Program("hdparm", "hdparm", "hdparm"),
    Program("hpcc", "hpcc", "hpcc"),
    Program("httperf", "httperf", "httperf"),
    Program("iozone", "iozone", "iozone3 (non-free)"),
    Program("iperf", "iperf", "iperf"),
    Program("iperf3", "iperf3", "iperf3"),
    Program("mbw", "mbw", "mbw"),
    Program("netperf", "netperf", "netperf (non-free)"),
    Program("postmark", "postmark", "postmark"),
    Program("ramspeed", "ramsmp", ""),
    Program("stress-ng", "stress-ng", "stress-ng"),
    Program("sysbench", "sysbench", "sysbench"),
    Program("tiotest", "tiotest", ""),
    Kernel("virtlab-linpack", "cc", "gcc"),
    Kernel("virtlab-memory", "cc", "gcc"),
    Program("wrk", "wrk", "wrk"),
)


def installed() -> List[Program]:
    """Return those that are on the path."""
    return [program for program in PROGRAMS if program.path]
