"""The access log holds no secret of a feed."""

from config.buffering import SECRET, WebLog


def test_the_secret_of_a_feed_is_not_logged(monkeypatch):
    line = {
        "r": "GET /feed.atom?token=vf_ab12_Se-cr_et&lab=a HTTP/1.1",
        "q": "token=vf_ab12_Se-cr_et&lab=a",
        "f": "-",
    }
    monkeypatch.setattr(WebLog.__bases__[0], "atoms", lambda *_: dict(line))

    atoms = WebLog.__new__(WebLog).atoms(None, None, None, None)

    assert atoms["r"] == "GET /feed.atom?token=vf_...&lab=a HTTP/1.1"
    assert atoms["q"] == "token=vf_...&lab=a"
    assert SECRET.sub("", atoms["f"]) == "-"
