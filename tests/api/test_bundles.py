"""/bundles/: import of the signed file of an agent without a network."""

import gzip

import pytest

from agents.commands import bundle as bundles
from agents.spool import Spool
from benchmarks.models import Run


@pytest.fixture
def packed(tmp_path, token, run_document):
    spool = Spool(str(tmp_path / "spool"))
    spool.save(run_document())
    [made] = bundles.write_bundles(spool, str(tmp_path / "stick"), token)
    return (tmp_path / "stick" / made).read_bytes()


def post(api, content, **more):
    return api.post("bundles/", content, content_type="application/gzip", **more)


def test_importing_twice_stores_once(api, packed):
    first, again = post(api, packed), post(api, packed)

    assert (first.status_code, again.status_code) == (202, 202)
    body = first.json()
    assert (body["accepted"], body["repeated"], body["host_count"]) == (1, 0, 0)
    assert body["agent"] == Run.objects.get().agent.name
    assert (again.json()["accepted"], again.json()["repeated"]) == (0, 1)


def test_modified_bundles_are_rejected(api, packed):
    changed = gzip.compress(gzip.decompress(packed) + b"run {}\n")

    answer = post(api, changed)

    assert answer.status_code == 422
    assert answer.json().keys() == {"code", "detail", "fields"}
    assert answer.json()["code"] == "bundle_rejected"
    assert "is not valid" in answer.json()["detail"]
    assert not Run.objects.exists()


def test_tokens_of_other_labs_cannot_import(api, packed, other_token):
    answer = post(api, packed, token=other_token)

    assert answer.status_code == 422
    assert "not a token of this lab" in answer.json()["detail"]


def test_other_content_types_are_415(api):
    assert api.post("bundles/", {"a": 1}).status_code == 415
