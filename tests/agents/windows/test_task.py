"""The scheduler's task, as it is written down, and a schtasks that is made up."""

import os
from xml.etree import ElementTree

import pytest

from agents.commands import watch
from agents.errors import AgentError, UsageError

SPACE = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


@pytest.fixture
def on_windows(home, monkeypatch, tmp_path):
    """A schtasks that notes its words and keeps the definition."""
    os.makedirs(home)
    program = tmp_path / "schtasks"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/told\n'
        f'[ "$1" = /create ] && cp "$5" {tmp_path}/kept.xml\n'
        f"[ ! -e {tmp_path}/fail ] || "
        "{ echo 'ERROR: Access is denied.' >&2; exit 1; }\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(watch, "_only_on_windows", lambda: None)
    return tmp_path


def test_the_task_has_no_end_and_least_rights(on_windows, home, monkeypatch):
    monkeypatch.setattr("sys.argv", ["C & D/virtlab-agent.pyz"])
    said = watch.install()

    assert "sends the spool" in said
    root = ElementTree.fromstring((on_windows / "kept.xml").read_bytes())
    texts = {each.tag.replace(SPACE, ""): each.text for each in root.iter()}
    assert texts["ExecutionTimeLimit"] == "PT0S"
    assert (texts["LogonType"], texts["RunLevel"]) == ("S4U", "LeastPrivilege")
    assert texts["StopIfGoingOnBatteries"] == "false"
    assert f"watch --folder {home}" in texts["Arguments"]
    assert "C & D" in texts["Arguments"]
    told = (on_windows / "told").read_text().splitlines()
    assert [line.split()[0] for line in told] == ["/create", "/run"]
    assert not os.path.exists(os.path.join(home, "task.xml"))


def test_it_is_ended_and_removed(on_windows):
    assert "stays in the spool" in watch.remove()

    told = (on_windows / "told").read_text().splitlines()
    assert [line.split()[0] for line in told] == ["/end", "/delete"]


def test_who_may_not_is_told_what_to_do(on_windows):
    (on_windows / "fail").write_text("")

    with pytest.raises(AgentError, match=r"Access is denied.* administrator"):
        watch.install()


def test_another_system_has_a_unit_for_systemd():
    with pytest.raises(UsageError, match="systemd"):
        watch.install()
