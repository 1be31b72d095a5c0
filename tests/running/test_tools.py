"""The small tools behind `make`: sizes, browser, the Makefile itself."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import browser, sizes
from running.processes import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def test_sizes_are_printed_longest_first(tmp_path):
    package = tmp_path / "api"
    package.mkdir()
    (package / "long.py").write_text("def one():\n    pass\n\n\ndef two(): ...\n")
    (package / "page.html").write_text("<p>\n</p>\n")

    report = sizes.report(tmp_path)

    assert report.splitlines() == [
        "longest functions",
        "    2 api/long.py:1 one",
        "    1 api/long.py:5 two",
        "",
        "longest modules",
        "    5 api/long.py",
        "",
        "longest templates",
        "    2 api/page.html",
    ]


def test_the_browser_can_be_named(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/opt/chromium")

    assert browser.find() == Path("/opt/chromium")


def test_a_missing_browser_is_the_sentence_to_type(monkeypatch, capsys):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(browser, "PLACES", ())
    monkeypatch.setattr("shutil.which", lambda name: None)

    assert browser.main() == 1
    assert "sudo apt-get install chromium" in capsys.readouterr().err


@pytest.fixture
def debian(monkeypatch):
    """Be root on Debian; return its programs, its packages, what apt-get was asked."""
    there, packages, asked = {"apt-get"}, set(), []

    def run(command, **_):
        _, verb, *words = command
        asked.append([verb, words[-1]] if verb == "install" else [verb])
        is_missing = verb == "install" and words[-1] not in packages
        return subprocess.CompletedProcess(command, 100 if is_missing else 0)

    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
    monkeypatch.setattr("subprocess.run", run)
    return there, packages, asked


def test_root_on_debian_gets_the_browser_without_a_window(debian):
    there, packages, asked = debian
    there.add("chromium")
    packages.add(browser.HEADLESS)

    assert browser.main() == 0
    assert asked == [["update"], ["install", browser.HEADLESS]]


def test_an_older_debian_gets_the_whole_browser(debian):
    _, packages, asked = debian
    packages.add("chromium")

    browser.install()

    assert asked[1:] == [["install", browser.HEADLESS], ["install", "chromium"]]


def test_nothing_is_installed_where_it_is_there(debian):
    there, _, asked = debian
    there.add(browser.HEADLESS)

    assert browser.main() == 0
    assert asked == []


def test_make_alone_lists_every_public_target():
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()

    targets = re.findall(r"^([a-z-]+):.* ## ", MAKEFILE, re.MULTILINE)
    assert {"run", "test", "check"} < set(targets)
    assert re.findall(r"^  make ([a-z-]+)", listed, re.MULTILINE) == targets


def test_every_target_is_phony_and_every_module_it_runs_exists():
    targets = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)$", MAKEFILE, re.MULTILINE))
    modules = re.findall(r"config[./]([a-z]+)", MAKEFILE)

    assert targets == phony
    assert all((ROOT / "config" / f"{name}.py").exists() for name in modules)


def test_every_test_that_it_names_exists():
    named = re.findall(r"tests/[\w./]+(?![\w./*])", MAKEFILE)

    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("target", ["migration", "restore"])
def test_a_target_that_needs_an_argument_says_so(target):
    ended = subprocess.run(
        ["make", target, "IN=true", "PYTHON=true"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert f"make {target} " in ended.stderr


def test_the_build_machine_runs_the_command_of_the_readme():
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert '\npatiently test PYTHON="$oldest"\n' in script.read_text()
    assert "make test" in (ROOT / "README.md").read_text()


FAILS = """
case "$*" in
    "test PYTHON=python3.11") exit 2 ;;
    "chaos "*) [ -e tried ] || { echo >tried; exit 2; } ;;
esac"""
ATTACKS = [
    "make chaos SECONDS=30 SEED=327",
    "make fuzz REQUESTS=600 SEED=327",
    "make overload SECONDS=10 SEED=327 ARGS=--any-speed",
    "make leaks MOST=400 SEED=327",
]


def build_machine(folder, *, user, is_fit, failed=()):
    """Run a copy of .ci/run among programs that only say what was asked of them.

    The first Python is too old, the second is Debian's without its venv module. Of this
    machine's own programs it has the shell's few: what is installed here says nothing.
    ``failed`` are the tests that fail when all are run.
    """
    said = {
        "bin/python3.10": "exit 1",
        "bin/python3.11": 'case "$*" in *ensurepip*) exit 1 ;; esac',
        "bin/make": 'echo "make $*"' + (FAILS if failed else ""),
        "bin/id": f"echo {user}",
        "bin/date": "echo 327",
        "bin/git": f"exit {0 if is_fit else 1}",
        "bin/apt-get": 'shift $(($# - 1)); echo "apt-get $1"',
        ".venv/bin/python": 'case "$*" in\n'
        "    *--packages) echo qemu-system-x86 ;;\n"
        f"    *--check|*tests.podman) exit {0 if is_fit else 1} ;;\nesac",
    }
    if is_fit:
        there = ["prometheus", "promtool", "sshd", "wine"]
        there += [f"{machine}-w64-mingw32-gcc" for machine in ("x86_64", "i686")]
        said |= {f"bin/{name}": "exit 0" for name in there}
        said |= {"bin/mkdir": "exit 0"}
    for name, line in said.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    for name in ("bash", "dirname", "basename"):
        (folder / "bin" / name).symlink_to(shutil.which(name))
    (folder / ".ci").mkdir()
    last_failed = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    last_failed.parent.mkdir(parents=True)
    last_failed.write_text(json.dumps(dict.fromkeys(failed, True), indent=2))
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    return subprocess.run(
        [folder / ".ci" / "run"],
        env={
            **os.environ,
            "PATH": f"{folder}/bin",
            "PYTHONS": "python3.10 python3.11 python3.12",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_build_machine_installs_the_lab_and_boots_a_guest(tmp_path):
    done = build_machine(tmp_path, user=0, is_fit=True)

    asked = done.stdout.splitlines()
    assert asked == [
        "apt-get --quiet",
        "apt-get python3.11-venv",
        "make test PYTHON=python3.11",
        "make test-proofs",
        "make test-pythons NEWEST=1",
        *ATTACKS,
        "make drill",
        "apt-get --quiet",
        "apt-get prometheus",
        "make test-prometheus",
        "apt-get --quiet",
        "apt-get openssh-server",
        "make test-probe",
        "apt-get --quiet",
        "apt-get gcc-mingw-w64-i686-win32",
        "make test-windows",
        "apt-get --quiet",
        # Of the fake Python, whatever is to be installed.
        "apt-get qemu-system-x86",
        "make test-compose",
        "apt-get --quiet",
        "apt-get qemu-system-x86",
        "make lab-short",
    ]
    assert done.returncode == 0


def test_a_build_machine_without_qemu_says_so_loudly(tmp_path):
    done = build_machine(tmp_path, user=1000, is_fit=False)

    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "make test PYTHON=python3.11",
        "make test-proofs",
        "make test-pythons NEWEST=1",
        *ATTACKS,
    ]
    assert "make drill WAS NOT RUN" in done.stderr
    assert "make test-prometheus WAS NOT RUN" in done.stderr
    assert "make test-probe WAS NOT RUN" in done.stderr
    assert "make test-windows WAS NOT RUN" in done.stderr
    assert "make test-compose WAS NOT RUN" in done.stderr
    assert "make lab-short WAS NOT RUN" in done.stderr


def test_what_failed_on_a_build_machine_is_run_once_more_alone(tmp_path):
    done = build_machine(tmp_path, user=1000, is_fit=False, failed=["a.py::test_a"])

    assert done.returncode == 0
    assert done.stdout.splitlines()[:3] == [
        "make test PYTHON=python3.11",
        "make test PYTHON=python3.11 ARGS=-n0 --last-failed"
        " --last-failed-no-failures none",
        "make test-proofs",
    ]
    assert "a.py::test_a" in done.stderr
    assert done.stdout.splitlines().count(ATTACKS[0]) == 2


def test_six_failed_tests_are_no_bad_luck(tmp_path):
    failed = [f"a.py::test_{number}" for number in range(6)]

    done = build_machine(tmp_path, user=1000, is_fit=False, failed=failed)

    assert done.returncode != 0
    assert done.stdout.splitlines() == ["make test PYTHON=python3.11"]


def test_what_was_compiled_once_is_kept_whatever_the_machine_says():
    asks = "asks: ; @$(PYTHON) -c 'import sys; print(sys.dont_write_bytecode)'"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    answer = subprocess.run(
        ["make", "--silent", f"--eval={asks}", "asks"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout == "False\n"
