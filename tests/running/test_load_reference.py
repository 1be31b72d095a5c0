from http import HTTPStatus

import pytest

from agents.client import RefusedError
from benchmarks.reference.study_documents import ReferenceStudy
from running import load_reference
from running.load_reference import LOADING_NOTE, load_data_sets


class FakeServer:
    """Studies by slug, as a client sees them; refuses a changed document."""

    def __init__(self, **notes):
        self.studies = {slug: {"slug": slug, "note": n} for slug, n in notes.items()}
        self.uploaded = []

    def get(self, path):
        slug = path.split("/")[1]
        if slug not in self.studies:
            raise RefusedError(HTTPStatus.NOT_FOUND, {})
        return self.studies[slug]

    def create_study(self, document):
        assert self.studies.setdefault(document["slug"], dict(document)) == document

    def update_study(self, slug, changes):
        self.studies[slug] |= changes

    def upload(self, runs):
        self.uploaded += runs
        yield len(self.uploaded)


@pytest.fixture(autouse=True)
def two_data_sets(monkeypatch):
    def study(slug):
        document = {"slug": slug, "note": f"About {slug}."}
        return ReferenceStudy(document, (), (), (f"a run of {slug}",), None)

    monkeypatch.setattr(load_reference, "data_set_names", lambda: ("one", "two"))
    monkeypatch.setattr(load_reference, "reference_study", study)


def test_the_notes_of_data_sets_say_that_they_are_being_loaded(capsys):
    server = FakeServer()
    seen = []
    server.upload = lambda runs: iter([seen.append(server.studies["two"]["note"])])

    load_data_sets(server)

    assert seen == [f"{LOADING_NOTE}\n\nAbout two."] * 2
    assert {s["note"] for s in server.studies.values()} == {"About one.", "About two."}
    assert "loading two: 1 runs (study 2 of 2)" in capsys.readouterr().out


def test_a_complete_data_set_is_not_read_again(capsys):
    server = FakeServer(one="About one.", two="Edited.")

    load_data_sets(server)

    assert server.uploaded == []
    assert capsys.readouterr().out == ""


def test_an_interrupted_data_set_is_loaded_again():
    server = FakeServer(one="About one.", two=f"{LOADING_NOTE}\n\nAbout two.")

    load_data_sets(server)

    assert server.uploaded == ["a run of two"]
    assert server.studies["two"]["note"] == "About two."
