import pytest

from lab import campaigns
from lab.campaigns import found_campaign
from lab.errors import LabError
from lab.servers import Server

FACTS = {"platform": {"layers": ["kvm"]}}


class Client:
    """A server that has one campaign."""

    def __init__(self, *_, **__):
        pass

    def get_all(self, path):
        assert path == "campaigns/"
        return iter([{"slug": "monday"}])


def test_a_pass_into_a_campaign_that_is_there_is_refused(monkeypatch):
    monkeypatch.setattr(campaigns, "Client", Client)
    server = Server("http://127.0.0.1:1", "vl_token", "vl_token")

    with pytest.raises(LabError, match="There is a campaign monday already"):
        found_campaign(server, FACTS, "monday", "lab-machine")
