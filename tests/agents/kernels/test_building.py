"""Compilers, caches and prebuilt programs: what is run, and what is said if not."""

import os
import re
import zipfile
from pathlib import Path

import pytest

from agents import build
from agents.errors import UsageError
from agents.kernels import building
from agents.measuring.runners import PROGRAMS

KERNELS = [each for each in PROGRAMS if each.tool.startswith("virtlab-")]


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Put a compiler on the path that does what a script says."""

    def install(script, name="cc"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
        return program

    return install


TOUCHES = 'while [ "$1" != -o ]; do shift; done; echo "$@" > "$2"; echo . >> %s'


def test_a_program_is_compiled_once(home, compiler, tmp_path):
    log = tmp_path / "log"
    compiler(TOUCHES % log)

    first, second = building.program_of("linpack"), building.program_of("linpack")

    assert first == second
    assert first.startswith(str(home / "kernels"))
    assert log.read_text() == ".\n"


def test_other_flags_compilers_and_sources_give_other_programs(
    home, compiler, tmp_path, monkeypatch
):
    program = compiler(TOUCHES % (tmp_path / "log"))
    found = {building.program_of("memory"), building.program_of("memory", 32)}
    os.utime(program, (1, 1))
    found.add(building.program_of("memory"))
    monkeypatch.setattr(building, "sources_of", lambda _: {"memory.c": b"int main;"})
    found.add(building.program_of("memory"))

    assert len(found) == 4


def test_the_program_says_how_it_was_compiled():
    argv = building.compiler_argv("/usr/bin/cc", ["-O2", "-m32"], "a.c", "a")

    assert '-DVIRTLAB_FLAGS="cc -O2 -m32"' in argv
    assert argv[-3:] == ["-o", "a", "a.c"]


def test_what_the_compiler_says_is_told_with_the_package(home, compiler):
    compiler("echo 'cannot find -lgcc'; exit 1")

    with pytest.raises(UsageError, match=r"cannot find -lgcc.*gcc-multilib"):
        building.program_of("linpack", 32)
    assert not list(home.glob("kernels/*/virtlab-*"))


def test_an_old_library_with_its_clock_apart_is_tried(home, compiler, tmp_path):
    compiler(f'case "$*" in *-lrt*) {TOUCHES % "/dev/null"};; *) exit 1;; esac')

    assert Path(building.program_of("linpack")).is_file()


def test_without_a_compiler_the_package_is_named(home, no_compiler):
    with pytest.raises(UsageError, match=r"no C compiler.*apt install gcc"):
        building.program_of("linpack")
    assert {each.path for each in KERNELS} == {None}
    assert {each.advice for each in KERNELS} == {"apt install gcc"}


def test_without_a_compiler_a_prebuilt_program_is_taken(
    home, no_compiler, monkeypatch, tmp_path
):
    folder = tmp_path / "binaries"
    folder.mkdir()
    name = f"linpack-{building.machine_name()}"
    (folder / name).write_bytes(b"#!/bin/sh\necho prebuilt\n")
    agent = tmp_path / "agent.pyz"
    build.main([str(agent), "--with-binaries", str(folder)])
    packed = zipfile.ZipFile(agent)
    inside = f"agents/kernels/prebuilt/{name}"
    assert inside in packed.namelist()

    monkeypatch.setattr(
        "pkgutil.get_data", lambda _, place: packed.read(f"agents/kernels/{place}")
    )
    program = building.program_of("linpack")

    assert Path(program).read_bytes() == b"#!/bin/sh\necho prebuilt\n"
    assert os.access(program, os.X_OK)
    assert program == building.program_of("linpack")


def test_a_binary_of_another_name_is_not_packed(tmp_path):
    (tmp_path / "README").write_text("")

    with pytest.raises(SystemExit, match="linpack-linux-x86_64"):
        build.build(str(tmp_path))


@pytest.mark.parametrize(
    ("machine", "bits", "name"),
    [
        ("x86_64", 0, "linux-x86_64"),
        ("AMD64", 32, "linux-i686"),
        ("i686", 32, "linux-i686"),
        ("aarch64", 0, "linux-aarch64"),
    ],
)
def test_a_machine_has_one_name(monkeypatch, machine, bits, name):
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.system", lambda: "Linux")

    assert building.machine_name(bits) == name


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("tcp://10.0.0.1:9000", "10.0.0.1:9000"),
        ("10.0.0.1", "10.0.0.1:8037"),
        ("tcp://[::1]", "[::1]:8037"),
        ("https://virtlab.example.org", ""),
        ("udp://10.0.0.1", ""),
        ("", ""),
    ],
)
def test_only_tcp_speaks_the_studies_protocol(told, address):
    assert building.studies_address(told) == address


def test_the_words_of_a_kernel(at_home, monkeypatch):
    monkeypatch.setattr(building, "free_bytes", lambda: 7_000_000)

    linpack = building.kernel_argv("linpack", ["--sizes", "50"], 0, "tcp://beta")
    elsewhere = building.kernel_argv("memory", [], start=["probe", "memory"])

    assert linpack[1:] == [
        *("--sizes", "50", "--most-bytes", "7000000", "--time-server", "beta:8037")
    ]
    assert elsewhere == ["probe", "memory"]


@pytest.mark.parametrize("kernel", building.SOURCES)
def test_a_kernel_consists_of_what_it_includes(kernel):
    sources = building.sources_of(kernel)
    included = {
        name
        for content in sources.values()
        for name in re.findall(r'^#include "(.+)"', content.decode(), re.MULTILINE)
    }

    assert sources.keys() == included | {f"{kernel}.c"}
