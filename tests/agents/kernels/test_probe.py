"""The probe: all kernels in one program, for platforms whose compilers are here."""

import os
import shutil
import subprocess

import pytest

from agents import build
from agents.kernels import probe
from agents.kernels.probe import PLATFORMS, CannotBuildError, Platform
from benchmarks.parsing import reading

SHORT = (
    *("--operations", "system-call,pipe,random-read,round-trip"),
    *("--seconds", "0.002", "--repetitions", "2", "--file-mib", "1"),
)
# How the programs of another machine are run here, where they can be.
RUNNERS = {
    "linux-x86_64": [],
    "linux-i686": [],
    "linux-aarch64": ["qemu-aarch64-static"],
    "windows-x86_64": ["wine"],
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Each platform's probe that can be compiled here, by its name."""
    folder = tmp_path_factory.mktemp("probe")
    found = {}
    for platform in PLATFORMS:
        if not probe.missing(platform):
            found[platform.name] = probe.build(platform, str(folder))[0]
    return found


@pytest.fixture
def ran(built, tmp_path):
    def run(name, *words):
        place = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
        done = subprocess.run(
            [*RUNNERS[name], built[name], *map(str, words)],
            env={**os.environ, **place, "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def runnable():
    """What can be run here at once; wine takes minutes to make its folder."""
    here = [name for name, runner in RUNNERS.items() if shutil.which(*runner or ["sh"])]
    buildable = {each.name for each in PLATFORMS if not probe.missing(each)}
    return [
        pytest.param(name, marks=pytest.mark.proof) if "windows" in name else name
        for name in here
        if name in buildable
    ]


def test_a_compiler_of_this_machine_is_here():
    """`apt-get install gcc`: without it nothing below is asked."""
    assert runnable()


@pytest.mark.parametrize("name", runnable())
def test_each_platforms_probe_prints_what_is_read(ran, name):
    code, printed, complaint = ran(name, "system", *SHORT)

    assert code == 0, complaint
    (run,) = reading.read(printed)
    assert not run.problem
    assert {each.parameters["operation"] for each in run.readings} == {
        *("system call", "pipe", "random read", "round trip")
    }
    assert run.facts["built"] == "beforehand"
    assert f"-static {'mingw' if 'windows' in name else ''}" in run.facts["flags"]


def test_every_kernel_is_in_it_and_measures_what_it_does_alone(ran):
    name = runnable()[0]
    words = ("--sizes", "50", "--repetitions", "2")

    linpack = ran(name, "linpack", *words)[1]
    memory = ran(
        name, "memory", "--blocks-kib", "1", "--array-mib", "1", "--seconds", "0.002"
    )[1]

    assert [run.tool for run in reading.read(linpack + memory)] == [
        *("virtlab-linpack", "virtlab-memory")
    ]


@pytest.mark.parametrize(
    "words", [(), ("sytem",), ("all", "--peer", "x"), ("all", "a")]
)
def test_what_it_does_not_know_is_refused(ran, words):
    code, printed, complaint = ran(runnable()[0], *words)

    assert (code, printed) == (2, "")
    assert complaint.startswith("probe linpack|memory|system [options]")


def test_it_is_static_and_small(built):
    for path in built.values():
        size = os.path.getsize(path)
        # glibc's, where musl is not here; the others have 200 kB.
        assert size < 1_500_000


def test_a_compiler_that_is_missing_is_named_with_its_package(tmp_path):
    platform = Platform("linux-vax", "vax-gcc", "gcc-vax")

    with pytest.raises(CannotBuildError, match="no vax-gcc: apt install gcc-vax"):
        probe.build(platform, str(tmp_path))


def test_a_compiler_without_a_c_library_is_said_with_its_package(tmp_path, monkeypatch):
    compiler = tmp_path / "vax-gcc"
    compiler.write_text("#!/bin/sh\necho libc.a\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    platform = Platform("linux-vax", "vax-gcc", "libc6-dev-vax-cross", "vax-linux-musl")

    said = "no C library for vax-gcc: apt install libc6-dev-vax-cross"
    with pytest.raises(CannotBuildError, match=said):
        probe.build(platform, str(tmp_path))


def test_where_none_can_be_built_it_says_so_and_fails(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)

    code = probe.main([str(tmp_path)])

    said = capsys.readouterr().out.splitlines()
    assert code == 1
    assert [line.split()[0] for line in said] == [each.name for each in PLATFORMS]
    assert all("not built: no " in line for line in said)


def test_an_unknown_platform_is_refused(tmp_path):
    with pytest.raises(
        SystemExit, match="linux-vax is no platform; there are: linux-x"
    ):
        probe.main([str(tmp_path), "linux-vax"])


def test_the_agent_does_not_carry_what_builds_it():
    files = build.sources(os.path.dirname(build.__file__))

    assert "agents/kernels/system.c" in files
    assert not [name for name in files if "probe" in name]
