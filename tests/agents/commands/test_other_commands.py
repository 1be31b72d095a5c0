"""detect, list, timeserver, and the command line around them."""

import contextlib
import importlib
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agents import errors
from agents.__main__ import COMMANDS, main
from agents.console import Console

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs" / "agents.md").read_text()
NAMES = [name for name, _ in COMMANDS]


def test_detect_says_it_to_people(call, machine):
    machine("qemu-tcg", "xen-pv")

    code, out, _ = call("detect")

    assert code == 0
    assert out.startswith("So.\n\nagent:\n  python: 3.6.15\n")
    assert "steal:\n  all ticks: 100\n" in out


def test_detect_says_it_to_programs(call, machine):
    code, out, _ = call("detect", "--json")

    found = json.loads(out)
    assert (code, found["platform"]["layers"]) == (0, ["kvm"])
    assert "evidence" not in found
    assert "evidence" in json.loads(call("detect", "--json", "--evidence")[1])


def test_list_names_the_package_of_what_is_missing(call, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    code, out, _ = call("list")

    assert code == 0
    assert re.search(r"^fio +missing: +apt install fio$", out, re.MULTILINE)
    assert json.loads(call("list", "--json")[1])[0]["path"] is None


def test_list_shows_where_a_tool_is(call, monkeypatch, tmp_path):
    program = tmp_path / "fio"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert f"installed: {program}" in call("list")[1]


def test_timeserver_tells_the_time_until_sigterm():
    program = [sys.executable, "-m", "agents", "timeserver", "--bind", "127.0.0.1"]

    with subprocess.Popen(
        [*program, "--port", "0"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as service:
        port = int(re.search(r"port (\d+)", service.stderr.readline())[1])
        with contextlib.closing(socket.create_connection(("127.0.0.1", port), 5)) as it:
            it.sendall(b"start\n")
            assert it.recv(100) == b"start"
        service.send_signal(signal.SIGTERM)
        said = service.stderr.read()

    assert service.returncode == 0
    assert "questions answered: 1" in said


def test_an_occupied_port_is_said(call):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

        code, _, said = call("timeserver", "--bind", "127.0.0.1", "--port", port)

    assert (code, "in use" in said) == (1, True)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_teaches(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    module = importlib.import_module(f"agents.commands.{name}")
    assert ended.value.code == 0
    assert module.__doc__.splitlines()[0] in capsys.readouterr().out
    assert f"`{name}" in DOCS


def test_every_command_there_is_is_offered():
    folder = ROOT / "agents" / "commands"

    assert sorted(NAMES) == sorted(p.stem for p in folder.glob("[a-z]*.py"))


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_without_a_command_it_shows_them_all(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)

    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(f"  {name} " in out for name in NAMES)
    assert "examples:" in out


def test_an_unknown_command_is_a_wrong_use(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["measure"])

    assert ended.value.code == 2
    assert "push" in capsys.readouterr().err


def test_ctrl_c_has_its_own_code(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.commands.list.run", interrupted)

    assert main(["list"]) == 130


def test_the_exit_codes_are_documented():
    codes = {value for name, value in vars(errors).items() if name.isupper()}

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", DOCS, re.M)} == codes


def test_in_a_log_every_line_has_its_time(capsys):
    console = Console()
    console.progress("1 of 2")
    console.say("done")

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in lines)


def test_on_a_terminal_progress_replaces_itself(capsys):
    console = Console()
    console.is_terminal = True
    console.progress("1 of 20")
    console.progress("2 of 2")
    console.say("done")

    said = capsys.readouterr().err
    assert said == "\r1 of 20\r2 of 2 \r      \rdone\n"
