"""The definition of the scheduled task, and a simulated schtasks."""

import os
from xml.etree import ElementTree

import pytest

from agents.commands import watch
from agents.errors import AgentError, UsageError

SPACE = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


@pytest.fixture
def on_windows(home, monkeypatch, tmp_path):
    """Install a schtasks that records its arguments and the definition."""
    os.makedirs(home)
    program = tmp_path / "schtasks"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n'
        f'[ "$1" = /create ] && cp "$5" {tmp_path}/kept.xml\n'
        f"[ ! -e {tmp_path}/fail ] || "
        "{ echo 'ERROR: Access is denied.' >&2; exit 1; }\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(watch, "_require_windows", lambda: None)
    return tmp_path


def test_task_has_no_end_and_least_privileges(on_windows, home, monkeypatch):
    monkeypatch.setattr("sys.argv", ["C & D/virtlab-agent.pyz"])
    message = watch.install_task()

    assert "sends the spool" in message
    root = ElementTree.fromstring((on_windows / "kept.xml").read_bytes())
    texts = {element.tag.replace(SPACE, ""): element.text for element in root.iter()}
    assert texts["ExecutionTimeLimit"] == "PT0S"
    assert (texts["LogonType"], texts["RunLevel"]) == ("S4U", "LeastPrivilege")
    assert texts["StopIfGoingOnBatteries"] == "false"
    assert f"watch --folder {home}" in texts["Arguments"]
    assert "C & D" in texts["Arguments"]
    calls = (on_windows / "calls").read_text().splitlines()
    assert [line.split()[0] for line in calls] == ["/create", "/run"]
    assert not os.path.exists(os.path.join(home, "task.xml"))


def test_task_is_stopped_and_deleted(on_windows):
    assert "stay in the spool" in watch.remove_task()

    calls = (on_windows / "calls").read_text().splitlines()
    assert [line.split()[0] for line in calls] == ["/end", "/delete"]


def test_missing_rights_are_explained(on_windows):
    (on_windows / "fail").write_text("")

    with pytest.raises(AgentError, match=r"Access is denied.* administrator"):
        watch.install_task()


def test_other_system_is_referred_to_systemd():
    with pytest.raises(UsageError, match="systemd"):
        watch.install_task()
