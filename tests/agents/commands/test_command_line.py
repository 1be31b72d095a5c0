"""detect, list, timeserver, and the common command line."""

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


def test_detect_prints_text(call, machine):
    machine("qemu-tcg", "xen-pv")

    code, out, _ = call("detect")

    assert code == 0
    assert out.startswith("So.\n\nagent:\n  python: 3.6.15\n")
    assert "steal:\n  all ticks: 100\n" in out


def test_detect_prints_json(call, machine):
    code, out, _ = call("detect", "--json")

    document = json.loads(out)
    assert (code, document["platform"]["layers"]) == (0, ["kvm"])
    assert "evidence" not in document
    assert "evidence" in json.loads(call("detect", "--json", "--evidence")[1])


def test_list_names_packages_of_missing_tools(call, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    code, out, _ = call("list")

    assert code == 0
    assert re.search(r"^fio +missing: +apt install fio$", out, re.MULTILINE)
    assert json.loads(call("list", "--json")[1])[0]["path"] is None


def test_list_shows_path_of_installed_tool(call, monkeypatch, tmp_path):
    program = tmp_path / "fio"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert f"installed: {program}" in call("list")[1]


def test_timeserver_answers_until_sigterm():
    program = [sys.executable, "-m", "agents", "timeserver", "--bind", "127.0.0.1"]

    with subprocess.Popen(
        [*program, "--port", "0"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as service:
        port = int(re.search(r"port (\d+)", service.stderr.readline())[1])
        with contextlib.closing(
            socket.create_connection(("127.0.0.1", port), 5)
        ) as sock:
            sock.sendall(b"start\n")
            assert sock.recv(100) == b"start"
        service.send_signal(signal.SIGTERM)
        err = service.stderr.read()

    assert service.returncode == 0
    assert "1 requests answered" in err


def test_occupied_port_is_reported(call):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]

        code, _, err = call("timeserver", "--bind", "127.0.0.1", "--port", port)

    assert (code, "in use" in err) == (1, True)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    module = importlib.import_module(f"agents.commands.{name}")
    assert ended.value.code == 0
    assert module.__doc__.splitlines()[0] in capsys.readouterr().out
    assert f"`{name}" in DOCS


def test_every_command_module_is_listed():
    folder = ROOT / "agents" / "commands"

    assert sorted(NAMES) == sorted(p.stem for p in folder.glob("[a-z]*.py"))


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_missing_command_prints_all_commands(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)

    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(f"  {name} " in out for name in NAMES)
    assert "examples:" in out


def test_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["measure"])

    assert ended.value.code == 2
    assert "push" in capsys.readouterr().err


def test_ctrl_c_has_its_own_exit_code(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.commands.list.run", interrupted)

    assert main(["list"]) == 130


def test_exit_codes_are_documented():
    codes = {value for name, value in vars(errors).items() if name.isupper()}

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", DOCS, re.M)} == codes


def test_log_lines_have_timestamps(capsys):
    console = Console()
    console.progress("1 of 2")
    console.message("done")

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in lines)


def test_progress_replaces_its_line_on_a_terminal(capsys):
    console = Console()
    console.is_terminal = True
    console.progress("1 of 20")
    console.progress("2 of 2")
    console.message("done")

    err = capsys.readouterr().err
    assert err == "\r1 of 20\r2 of 2 \r      \rdone\n"


def test_version_is_that_of_virtlab(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])

    assert stopped.value.code == 0
    words = f"virtlab-agent {(ROOT / 'VERSION').read_text().strip()} Python "
    assert capsys.readouterr().out.startswith(words)
