"""Compilers, caches and prebuilt programs, and messages if there are none."""

import os
import re
import zipfile
from pathlib import Path

import pytest

from agents import build
from agents.errors import UsageError
from agents.kernels import compilation
from agents.measuring.command_lines import PROGRAMS

KERNELS = [program for program in PROGRAMS if program.tool.startswith("virtlab-")]


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Install a compiler that runs a script."""

    def install(script, name="cc"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
        return program

    return install


TOUCHES = 'while [ "$1" != -o ]; do shift; done; echo "$@" > "$2"; echo . >> %s'


def test_program_is_compiled_once(home, compiler, tmp_path):
    log = tmp_path / "log"
    compiler(TOUCHES % log)

    first, second = (
        compilation.program_path("linpack"),
        compilation.program_path("linpack"),
    )

    assert first == second
    assert first.startswith(str(home / "kernels"))
    assert log.read_text() == ".\n"


def test_flags_compiler_and_sources_change_the_program(
    home, compiler, tmp_path, monkeypatch
):
    program = compiler(TOUCHES % (tmp_path / "log"))
    paths = {compilation.program_path("memory"), compilation.program_path("memory", 32)}
    os.utime(program, (1, 1))
    paths.add(compilation.program_path("memory"))
    monkeypatch.setattr(
        compilation, "kernel_sources", lambda _: {"memory.c": b"int main;"}
    )
    paths.add(compilation.program_path("memory"))

    assert len(paths) == 4


def test_program_reports_compiler_and_flags():
    argv = compilation.compiler_argv("/usr/bin/cc", ["-O2", "-m32"], "a.c", "a")

    assert '-DVIRTLAB_FLAGS="cc -O2 -m32"' in argv
    assert argv[-3:] == ["-o", "a", "a.c"]


def test_compiler_error_is_reported_with_the_package(home, compiler):
    compiler("echo 'cannot find -lgcc'; exit 1")

    with pytest.raises(UsageError, match=r"cannot find -lgcc.*gcc-multilib"):
        compilation.program_path("linpack", 32)
    assert not list(home.glob("kernels/*/virtlab-*"))


def test_library_for_old_clocks_is_tried(home, compiler, tmp_path):
    compiler(f'case "$*" in *-lrt*) {TOUCHES % "/dev/null"};; *) exit 1;; esac')

    assert Path(compilation.program_path("linpack")).is_file()


def test_missing_compiler_names_the_package(home, no_compiler):
    with pytest.raises(UsageError, match=r"no C compiler.*apt install gcc"):
        compilation.program_path("linpack")
    assert {program.path for program in KERNELS} == {None}
    assert {program.advice for program in KERNELS} == {"apt install gcc"}


def test_prebuilt_program_replaces_missing_compiler(
    home, no_compiler, monkeypatch, tmp_path
):
    folder = tmp_path / "binaries"
    folder.mkdir()
    name = f"linpack-{compilation.platform_name()}"
    (folder / name).write_bytes(b"#!/bin/sh\necho prebuilt\n")
    agent = tmp_path / "agent.pyz"
    build.main([str(agent), "--with-binaries", str(folder)])
    packed = zipfile.ZipFile(agent)
    inside = f"agents/kernels/prebuilt/{name}"
    assert inside in packed.namelist()

    monkeypatch.setattr(
        "pkgutil.get_data", lambda _, path: packed.read(f"agents/kernels/{path}")
    )
    program = compilation.program_path("linpack")

    assert Path(program).read_bytes() == b"#!/bin/sh\necho prebuilt\n"
    assert os.access(program, os.X_OK)
    assert program == compilation.program_path("linpack")


def test_binary_with_invalid_name_is_not_packed(tmp_path):
    (tmp_path / "README").write_text("")

    with pytest.raises(SystemExit, match="linpack-linux-x86_64"):
        build.build_archive(str(tmp_path))


@pytest.mark.parametrize(
    ("machine", "bits", "name"),
    [
        ("x86_64", 0, "linux-x86_64"),
        ("AMD64", 32, "linux-i686"),
        ("i686", 32, "linux-i686"),
        ("aarch64", 0, "linux-aarch64"),
    ],
)
def test_platform_name_is_normalized(monkeypatch, machine, bits, name):
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.system", lambda: "Linux")

    assert compilation.platform_name(bits) == name


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("tcp://10.0.0.1:9000", "10.0.0.1:9000"),
        ("10.0.0.1", "10.0.0.1:8037"),
        ("tcp://[::1]", "[::1]:8037"),
        ("https://virtlab.example.org", ""),
        ("udp://10.0.0.1", ""),
        ("", ""),
    ],
)
def test_only_tcp_time_servers_have_an_address(url, address):
    assert compilation.tcp_address(url) == address


def test_kernel_command_line(at_home, monkeypatch):
    monkeypatch.setattr(compilation, "free_bytes", lambda: 7_000_000)

    linpack = compilation.kernel_argv("linpack", ["--sizes", "50"], 0, "tcp://beta")
    elsewhere = compilation.kernel_argv("memory", [], start=["probe", "memory"])

    assert linpack[1:] == [
        *("--sizes", "50", "--most-bytes", "7000000", "--time-server", "beta:8037")
    ]
    assert elsewhere == ["probe", "memory"]


@pytest.mark.parametrize("kernel", compilation.SOURCES)
def test_kernel_sources_include_all_headers(kernel):
    sources = compilation.kernel_sources(kernel)
    included = {
        name
        for content in sources.values()
        for name in re.findall(r'^#include "(.+)"', content.decode(), re.MULTILINE)
    }

    assert sources.keys() == included | {f"{kernel}.c"}
