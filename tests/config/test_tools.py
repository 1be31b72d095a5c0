"""The small tools behind `make`: sizes, browser, the Makefile itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from config import browser, sizes
from config.processes import ROOT

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


def test_root_on_debian_gets_the_browser_installed(monkeypatch):
    commands: list[list[str]] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("subprocess.run", lambda command, **_: commands.append(command))

    assert browser.install()
    assert [command[1] for command in commands] == ["update", "install"]


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
    assert "\nmake test\n" in script.read_text()
    assert "make test" in (ROOT / "README.md").read_text()


def build_machine(folder, *, user, packages):
    """Run .ci/run among programs that only say what was asked of them."""
    said = {
        "make": 'echo "make $*"',
        "python3": f"echo '{packages}'",
        "id": f"echo {user}",
        "apt-get": 'echo "apt-get $1"',
    }
    for name, line in said.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [ROOT / ".ci" / "run"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )


def test_the_build_machine_installs_the_lab_and_boots_a_guest(tmp_path):
    done = build_machine(tmp_path, user=0, packages="qemu-system-x86")

    asked = done.stdout.split("\n")[:-1]
    assert asked == ["make test", "apt-get update", "apt-get install", "make lab-short"]
    assert done.returncode == 0


def test_a_build_machine_without_qemu_says_so_loudly(tmp_path):
    done = build_machine(tmp_path, user=1000, packages="qemu-system-x86")

    assert done.returncode == 0
    assert "make lab-short WAS NOT RUN" in done.stderr
    assert "qemu-system-x86" in done.stderr
