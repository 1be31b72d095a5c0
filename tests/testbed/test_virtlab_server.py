"""The testbed's own Virtlab server, when it cannot start."""

import os

import pytest

from testbed import TestbedError, virtlab_server
from testbed.virtlab_server import (
    TestServer,
    create_study,
    data_folder,
    machine_name,
    open_server,
    study_title,
)


def test_failed_start_shows_the_end_of_the_log(tmp_path):
    data = tmp_path / "product" / "pgdata"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9.6\n")

    own = {"PATH": os.environ["PATH"]}  # none of the services of the tests

    with pytest.raises(TestbedError) as failed, open_server(own, tmp_path):
        pytest.fail("it started")

    message = str(failed.value)
    assert f"the end of {tmp_path / 'product.log'}" in message
    assert "contains data of PostgreSQL 9.6" in message
    assert f"{tmp_path / 'product'} belongs to another version" in message
    assert "TESTBED=/path/to/folder make testbed" in message


def test_given_server_needs_a_token(tmp_path):
    environment = {"SERVER": "https://virtlab.example.org"}

    with (
        pytest.raises(TestbedError, match="TOKEN is not"),
        open_server(environment, tmp_path),
    ):
        pytest.fail("it goes on")


def test_folder_can_be_changed(tmp_path):
    assert data_folder({"TESTBED": str(tmp_path)}) == tmp_path
    assert data_folder({}).parts[-2:] == ("var", "testbed")


def test_machines_have_different_names(monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "Rack_3.example.org")

    assert machine_name({}) == "lab-rack-3-example-org"
    assert machine_name({"MACHINE": "athlon"}) == "athlon"
    monkeypatch.setattr("platform.node", lambda: "")
    assert machine_name({}) == "lab-machine"


FACTS = {"platform": {"layers": ["kvm"]}}


class Client:
    """A client of a server with one study."""

    def __init__(self, *_, **__):
        pass

    def get_all(self, path):
        assert path == "studies/"
        return iter([{"slug": "monday"}])


def test_existing_study_is_refused(monkeypatch):
    monkeypatch.setattr(virtlab_server, "Client", Client)
    server = TestServer("http://127.0.0.1:1", "vl_token", "vl_token")

    with pytest.raises(TestbedError, match="Study monday already exists"):
        create_study(server, FACTS, "monday", "lab-machine", "", {"native"})


def test_title_names_only_given_systems():
    assert study_title({"native", "kvm", "qemu"}) == (
        "Native, QEMU and KVM on one machine, emulated"
    )
    assert study_title({"liar"}) == "QEMU with a wrong clock on one machine, emulated"
    assert study_title({"slot-1", "slot-2"}) == (
        "Parallel QEMU guests on one machine, emulated"
    )
