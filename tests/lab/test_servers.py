"""The lab's own Virtlab, where it cannot start."""

import os

import pytest

from lab import LabError, servers
from lab.servers import Server, create_study, lab_folder, machine_name, server_of


def test_a_virtlab_that_does_not_start_is_told_with_its_last_words(tmp_path):
    data = tmp_path / "product" / "pgdata"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9.6\n")

    own = {"PATH": os.environ["PATH"]}  # none of the services of the tests

    with pytest.raises(LabError) as failed, server_of(own, tmp_path):
        pytest.fail("it started")

    said = str(failed.value)
    assert f"the end of {tmp_path / 'product.log'}" in said
    assert "holds data of PostgreSQL 9.6" in said
    assert f"{tmp_path / 'product'} was made by another version" in said
    assert "LAB=/path/to/folder make lab" in said


def test_a_given_server_needs_a_token(tmp_path):
    given = {"SERVER": "https://virtlab.example.org"}

    with pytest.raises(LabError, match="TOKEN is not"), server_of(given, tmp_path):
        pytest.fail("it goes on")


def test_its_folder_may_be_another(tmp_path):
    assert lab_folder({"LAB": str(tmp_path)}) == tmp_path
    assert lab_folder({}).parts[-2:] == ("var", "lab")


def test_machines_are_told_apart_by_their_names(monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "Rack_3.example.org")

    assert machine_name({}) == "lab-rack-3-example-org"
    assert machine_name({"MACHINE": "athlon"}) == "athlon"
    monkeypatch.setattr("platform.node", lambda: "")
    assert machine_name({}) == "lab-machine"


FACTS = {"platform": {"layers": ["kvm"]}}


class Client:
    """A server that has one study."""

    def __init__(self, *_, **__):
        pass

    def get_all(self, path):
        assert path == "studies/"
        return iter([{"slug": "monday"}])


def test_a_pass_into_a_study_that_is_there_is_refused(monkeypatch):
    monkeypatch.setattr(servers, "Client", Client)
    server = Server("http://127.0.0.1:1", "vl_token", "vl_token")

    with pytest.raises(LabError, match="There is a study monday already"):
        create_study(server, FACTS, "monday", "lab-machine", "")
