"""The probe: all kernels in one program, for platforms whose compiler is installed."""

import os
import shutil
import subprocess

import pytest

from agents import build
from agents.kernels import static_build
from agents.kernels.static_build import PLATFORMS, Platform, ProbeBuildError
from benchmarks.parsing import run_extraction

SHORT = (
    *("--operations", "system-call,pipe,random-read,round-trip"),
    *("--seconds", "0.002", "--repetitions", "2", "--file-mib", "1"),
)
# Emulators for the programs of other machines, if installed.
RUNNERS = {
    "linux-x86_64": [],
    "linux-i686": [],
    "linux-aarch64": ["qemu-aarch64-static"],
    "windows-x86_64": ["wine"],
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Compile the probe for each available platform; return the paths by name."""
    folder = tmp_path_factory.mktemp("probe")
    programs = {}
    for platform in PLATFORMS:
        if not static_build.missing_compilers(platform):
            programs[platform.name] = static_build.build(platform, str(folder))[0]
    return programs


@pytest.fixture
def ran(built, tmp_path):
    def run(name, *words):
        environment = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
        done = subprocess.run(
            [*RUNNERS[name], built[name], *map(str, words)],
            env={**os.environ, **environment, "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def runnable():
    """Return the probes that can run at once; Wine needs minutes for its folder."""
    available = [
        name for name, runner in RUNNERS.items() if shutil.which(*runner or ["sh"])
    ]
    buildable = {
        platform.name
        for platform in PLATFORMS
        if not static_build.missing_compilers(platform)
    }
    return [
        pytest.param(name, marks=pytest.mark.slow) if "windows" in name else name
        for name in available
        if name in buildable
    ]


def test_compiler_for_this_machine_is_available():
    """Without `apt-get install gcc` the tests below are meaningless."""
    assert runnable()


@pytest.mark.parametrize("name", runnable())
def test_each_probe_prints_its_usage(ran, name):
    code, printed, complaint = ran(name, "system", *SHORT)

    assert code == 0, complaint
    (run,) = run_extraction.extract_runs(printed)
    assert not run.problem
    assert {reading.parameters["operation"] for reading in run.readings} == {
        *("system call", "pipe", "random read", "round trip")
    }
    assert run.facts["built"] == "beforehand"
    assert f"-static {'mingw' if 'windows' in name else ''}" in run.facts["flags"]


def test_probe_kernels_print_what_single_kernels_print(ran):
    name = runnable()[0]
    words = ("--sizes", "50", "--repetitions", "2")

    linpack = ran(name, "linpack", *words)[1]
    memory = ran(
        name, "memory", "--blocks-kib", "1", "--array-mib", "1", "--seconds", "0.002"
    )[1]

    assert [run.tool for run in run_extraction.extract_runs(linpack + memory)] == [
        *("virtlab-linpack", "virtlab-memory")
    ]


@pytest.mark.parametrize(
    "words", [(), ("sytem",), ("all", "--peer", "x"), ("all", "a")]
)
def test_unknown_arguments_are_refused(ran, words):
    code, printed, complaint = ran(runnable()[0], *words)

    assert (code, printed) == (2, "")
    assert complaint.startswith("probe linpack|memory|system [options]")


def test_probe_is_static_and_small(built):
    for path in built.values():
        size = os.path.getsize(path)
        # The size with glibc if musl is missing; others have 200 kB.
        assert size < 1_500_000


def test_missing_compiler_is_named_with_its_package(tmp_path):
    platform = Platform("linux-vax", "vax-gcc", "gcc-vax")

    with pytest.raises(ProbeBuildError, match="no vax-gcc: apt install gcc-vax"):
        static_build.build(platform, str(tmp_path))


def test_compiler_without_c_library_is_reported_with_its_package(tmp_path, monkeypatch):
    compiler = tmp_path / "vax-gcc"
    compiler.write_text("#!/bin/sh\necho libc.a\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    platform = Platform("linux-vax", "vax-gcc", "libc6-dev-vax-cross", "vax-linux-musl")

    message = "no C library for vax-gcc: apt install libc6-dev-vax-cross"
    with pytest.raises(ProbeBuildError, match=message):
        static_build.build(platform, str(tmp_path))


def test_command_fails_if_no_platform_can_be_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)

    code = static_build.main([str(tmp_path)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert [line.split()[0] for line in lines] == [
        platform.name for platform in PLATFORMS
    ]
    assert all("not built: no " in line for line in lines)


def test_unknown_platform_is_refused(tmp_path):
    with pytest.raises(
        SystemExit, match=r"linux-vax is not a platform\. Available: linux-x"
    ):
        static_build.main([str(tmp_path), "linux-vax"])


def test_agent_excludes_the_probe_builder():
    files = build.agent_files(os.path.dirname(build.__file__))

    assert "agents/kernels/system.c" in files
    assert not [name for name in files if "probe" in name]
