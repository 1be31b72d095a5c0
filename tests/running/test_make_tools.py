"""The small tools behind `make`, and the Makefile itself."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import headless_browser
from running.processes import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def test_browser_can_be_named(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/opt/chromium")

    assert headless_browser.find_browser() == Path("/opt/chromium")


def test_missing_browser_shows_the_command_to_install(monkeypatch, capsys):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(headless_browser, "INSTALL_PATHS", ())
    monkeypatch.setattr("shutil.which", lambda name: None)

    assert headless_browser.main() == 1
    assert "sudo apt-get install chromium" in capsys.readouterr().err


@pytest.fixture
def debian(monkeypatch):
    """Simulate root on Debian; return its programs, packages and calls of apt-get."""
    programs, packages, calls = {"apt-get"}, set(), []

    def run(command, **_):
        _, verb, *words = command
        calls.append([verb, words[-1]] if verb == "install" else [verb])
        is_missing = verb == "install" and words[-1] not in packages
        return subprocess.CompletedProcess(command, 100 if is_missing else 0)

    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name if name in programs else None)
    monkeypatch.setattr("subprocess.run", run)
    return programs, packages, calls


def test_root_on_debian_gets_the_headless_browser(debian):
    programs, packages, calls = debian
    programs.add("chromium")
    packages.add(headless_browser.HEADLESS)

    assert headless_browser.main() == 0
    assert calls == [["update"], ["install", headless_browser.HEADLESS]]


def test_older_debian_gets_the_full_browser(debian):
    _, packages, calls = debian
    packages.add("chromium")

    headless_browser.install_browser()

    assert calls[1:] == [
        ["install", headless_browser.HEADLESS],
        ["install", "chromium"],
    ]


def test_existing_browser_is_not_reinstalled(debian):
    programs, _, calls = debian
    programs.add(headless_browser.HEADLESS)

    assert headless_browser.main() == 0
    assert calls == []


def test_make_alone_lists_every_public_target():
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()

    targets = re.findall(r"^([a-z-]+):.* ## ", MAKEFILE, re.MULTILINE)
    assert {"run", "test", "check"} < set(targets)
    assert re.findall(r"^  make ([a-z-]+)", listed, re.MULTILINE) == targets


def test_targets_are_phony_and_their_modules_exist():
    targets = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)$", MAKEFILE, re.MULTILINE))
    modules = re.findall(r"config[./]([a-z]+)", MAKEFILE)

    assert targets == phony
    assert all((ROOT / "config" / f"{name}.py").exists() for name in modules)


def test_named_tests_exist():
    paths = re.findall(r"tests/[\w./]+(?![\w./*])", MAKEFILE)

    assert len(paths) > 5
    assert [name for name in paths if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("target", ["migration", "restore"])
def test_missing_argument_is_explained(target):
    ended = subprocess.run(
        ["make", target, "IN=true", "PYTHON=true"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert f"make {target} " in ended.stderr


# The first `make test` fails, and each stress test fails once.
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
    """Run a copy of .ci/run with programs that only print their arguments.

    The first Python is too old, the second is Debian's without the venv module.
    ``failed`` are the tests that fail when all are run.
    """
    programs = {
        "bin/python3.10": "exit 1",
        "bin/python3.11": 'case "$*" in *ensurepip*) exit 1 ;; esac',
        "bin/make": 'echo "make $*"' + (FAILS if failed else ""),
        "bin/id": f"echo {user}",
        "bin/date": "echo 327",
        "bin/git": f"exit {0 if is_fit else 1}",
        "bin/apt-get": 'echo "$*" >>installed',
        ".venv/bin/python": 'case "$*" in\n'
        "    *--packages) echo qemu-system-x86 ;;\n"
        f"    *--check|*tests.podman) exit {0 if is_fit else 1} ;;\nesac",
    }
    if is_fit:
        present = ["prometheus", "promtool", "sshd", "wine"]
        present += ["dpkg-deb", "rpm", "minisign"]
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
    prepared, *calls = [
        line for line in done.stdout.splitlines() if line.startswith("make ")
    ]
    assert prepared == "make dev PYTHON=python3.11"
    return done, calls


def test_build_machine_runs_the_most_important_parts_first(tmp_path):
    done, calls = build_machine(tmp_path, user=0, is_fit=True)

    assert calls == [
        "make test PYTHON=python3.11",
        "make test-slow DAY=327",
        "make privacy-crawl MAX_PAGES=400 SEED=327",
        "make chaos SECONDS=30 SEED=327",
        "make recovery-drill",
        *ATTACKS,
        "make test-pythons NEWEST=1 DAY=327",
        "make test-prometheus",
        "make test-packages ARGS=-k tools",
        "make test-probe",
        "make test-compose",
        "make test-windows",
        "make testbed-short",
    ]
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "14 passed, 0 failed"


def test_packages_are_installed_in_the_background(tmp_path):
    build_machine(tmp_path, user=0, is_fit=True)

    calls = (tmp_path / "installed").read_text().splitlines()
    assert calls[0] == "update --quiet"
    assert [call.split()[-1] for call in calls[1:]] == [
        *("python3.11-venv", "r-cran-metafor", "minisign", "prometheus"),
        *("openssh-server", "gcc-mingw-w64-i686-win32"),
        # Any package, from the fake Python: for containers and for virtual machines.
        *("qemu-system-x86", "qemu-system-x86"),
    ]


def test_last_lines_name_the_parts_that_did_not_run(tmp_path):
    done, calls = build_machine(tmp_path, user=1000, is_fit=False)

    assert done.returncode == 0
    assert len(calls) == 7
    *_, end = done.stdout.partition("--- finished")
    missing = ("recovery-drill", "test-prometheus", "test-probe", "test-windows")
    for name in (*missing, "test-compose", "testbed-short"):
        assert f"NOT RUN: make {name}: " in end
    assert end.splitlines()[-1] == "7 passed, 0 failed"


def test_no_part_starts_after_the_time_limit(tmp_path):
    done, calls = build_machine(tmp_path, user=1000, is_fit=True, LATEST_START_S="-1")

    assert calls == []
    assert done.returncode == 0
    assert done.stdout.count("no time left") == 14


def test_failed_tests_are_repeated_alone(tmp_path):
    done, calls = build_machine(
        tmp_path, user=1000, is_fit=False, failed=["a.py::test_a"]
    )

    assert done.returncode == 0
    assert calls[:3] == [
        "make test PYTHON=python3.11",
        "make test PYTHON=python3.11 ARGS=-n0 --last-failed"
        " --last-failed-no-failures none",
        "make test-slow DAY=327",
    ]
    assert "a.py::test_a" in done.stdout
    assert calls.count("make chaos SECONDS=30 SEED=327") == 2
    # 38 and 2 tests, and six parts that count as one each.
    assert done.stdout.splitlines()[-1] == "46 passed, 0 failed"


def test_six_failed_tests_are_not_repeated(tmp_path):
    failed = [f"a.py::test_{number}" for number in range(6)]

    done, calls = build_machine(tmp_path, user=1000, is_fit=False, failed=failed)

    assert done.returncode != 0
    assert calls[:2] == ["make test PYTHON=python3.11", "make test-slow DAY=327"]
    assert "FAILED: make test\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "44 passed, 2 failed"


def test_compiled_modules_are_kept():
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
