"""The access log contains no secret token of a feed."""

from config.gunicorn_worker import FEED_SECRET, AccessLog


def test_feed_secret_is_not_logged(monkeypatch):
    line = {
        "r": "GET /feed.atom?token=vf_ab12_Se-cr_et&lab=a HTTP/1.1",
        "q": "token=vf_ab12_Se-cr_et&lab=a",
        "f": "-",
    }
    monkeypatch.setattr(AccessLog.__bases__[0], "atoms", lambda *_: dict(line))

    atoms = AccessLog.__new__(AccessLog).atoms(None, None, None, None)

    assert atoms["r"] == "GET /feed.atom?token=vf_...&lab=a HTTP/1.1"
    assert atoms["q"] == "token=vf_...&lab=a"
    assert FEED_SECRET.sub("", atoms["f"]) == "-"
