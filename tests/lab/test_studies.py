import pytest

from lab import studies
from lab.errors import LabError
from lab.servers import Server
from lab.studies import found_study

FACTS = {"platform": {"layers": ["kvm"]}}


class Client:
    """A server that has one study."""

    def __init__(self, *_, **__):
        pass

    def get_all(self, path):
        assert path == "studies/"
        return iter([{"slug": "monday"}])


def test_a_pass_into_a_study_that_is_there_is_refused(monkeypatch):
    monkeypatch.setattr(studies, "Client", Client)
    server = Server("http://127.0.0.1:1", "vl_token", "vl_token")

    with pytest.raises(LabError, match="There is a study monday already"):
        found_study(server, FACTS, "monday", "lab-machine")
