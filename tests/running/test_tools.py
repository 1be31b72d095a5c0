"""The small tools behind `make`: browser, the Makefile itself."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import browser
from running.processes import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


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


# The first `make test` fails, and so does each attack once.
FAILS = """
case "$*" in
    "test PYTHON=python3.11") echo "== 2 failed, 38 passed in 9s =="; exit 2 ;;
    "test PYTHON"*) echo "== 2 passed in 1s ==" ;;
    "chaos "*) [ -e tried ] || { echo >tried; exit 2; } ;;
esac"""
ATTACKS = [
    "make fuzz REQUESTS=600 SEED=327",
    "make overload SECONDS=10 SEED=327 ARGS=--any-speed",
]


def build_machine(folder, *, user, is_fit, failed=(), **environment):
    """Run a copy of .ci/run with programs that only print how they were called.

    The first Python is too old, the second is Debian's without its venv module.
    ``failed`` are the tests that fail when all are run.
    """
    programs = {
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
        present = ["prometheus", "promtool", "sshd", "wine"]
        present += [f"{machine}-w64-mingw32-gcc" for machine in ("x86_64", "i686")]
        programs |= {f"bin/{name}": "exit 0" for name in present}
        programs |= {"bin/mkdir": "exit 0"}
    for name, line in programs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    for name in [
        "bash",
        "dirname",
        "basename",
        "mktemp",
        "rm",
        "tee",
        "grep",
        "tail",
        "awk",
    ]:
        (folder / "bin" / name).symlink_to(shutil.which(name))
    (folder / ".ci").mkdir()
    last_failed = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    last_failed.parent.mkdir(parents=True)
    last_failed.write_text(json.dumps(dict.fromkeys(failed, True), indent=2))
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    done = subprocess.run(
        [folder / ".ci" / "run"],
        env={
            **os.environ,
            "PATH": f"{folder}/bin",
            "PYTHONS": "python3.10 python3.11 python3.12",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    return done, [line for line in lines if line.startswith(("make ", "apt-get "))]


def test_the_build_machine_runs_the_most_important_parts_first(tmp_path):
    done, asked = build_machine(tmp_path, user=0, is_fit=True)

    assert [line for line in asked if line != "apt-get --quiet"] == [
        "apt-get python3.11-venv",
        "make test PYTHON=python3.11",
        "make test-proofs THIRD=327",
        "make leaks MOST=400 SEED=327",
        "make chaos SECONDS=30 SEED=327",
        "make drill",
        *ATTACKS,
        "make test-pythons NEWEST=1",
        "apt-get prometheus",
        "make test-prometheus",
        "apt-get openssh-server",
        "make test-probe",
        "apt-get qemu-system-x86",  # any package, from the fake Python
        "make test-compose",
        "apt-get gcc-mingw-w64-i686-win32",
        "make test-windows",
        "apt-get qemu-system-x86",
        "make lab-short",
    ]
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "13 passed, 0 failed"


def test_the_last_lines_name_the_parts_that_did_not_run(tmp_path):
    done, asked = build_machine(tmp_path, user=1000, is_fit=False)

    assert done.returncode == 0
    assert len(asked) == 7
    *_, end = done.stdout.partition("--- finished")
    missing = ("drill", "test-prometheus", "test-probe", "test-windows")
    for name in (*missing, "test-compose", "lab-short"):
        assert f"NOT RUN: make {name}: " in end
    assert end.splitlines()[-1] == "7 passed, 0 failed"


def test_no_part_starts_when_the_time_is_over(tmp_path):
    done, asked = build_machine(tmp_path, user=1000, is_fit=True, LATEST_START_S="-1")

    assert asked == []
    assert done.returncode == 0
    assert done.stdout.count("no time left") == 13


def test_what_failed_on_a_build_machine_is_run_once_more_alone(tmp_path):
    done, asked = build_machine(
        tmp_path, user=1000, is_fit=False, failed=["a.py::test_a"]
    )

    assert done.returncode == 0
    assert asked[:3] == [
        "make test PYTHON=python3.11",
        "make test PYTHON=python3.11 ARGS=-n0 --last-failed"
        " --last-failed-no-failures none",
        "make test-proofs THIRD=327",
    ]
    assert "a.py::test_a" in done.stdout
    assert asked.count("make chaos SECONDS=30 SEED=327") == 2
    # 38 and 2 tests, and six parts that count as one each.
    assert done.stdout.splitlines()[-1] == "46 passed, 0 failed"


def test_six_failed_tests_are_not_an_accident(tmp_path):
    failed = [f"a.py::test_{number}" for number in range(6)]

    done, asked = build_machine(tmp_path, user=1000, is_fit=False, failed=failed)

    assert done.returncode != 0
    assert asked[:2] == ["make test PYTHON=python3.11", "make test-proofs THIRD=327"]
    assert "FAILED: make test\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "44 passed, 2 failed"


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
