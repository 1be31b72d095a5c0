"""The page that imports bundles."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from agents.commands import bundle as bundles
from agents.spool import Spool
from benchmarks.models import AuditEntry, Run

PAGE = "/labs/alpha-lab/bundles/"


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def packed(tmp_path, token, run_document):
    spool = Spool(str(tmp_path / "spool"))
    spool.save(run_document())
    [made] = bundles.write_bundles(spool, str(tmp_path / "stick"), token)
    return (tmp_path / "stick" / made).read_bytes()


def chosen(*contents):
    return {"bundles": [SimpleUploadedFile("a.virtlab", it) for it in contents]}


def test_page_explains_bundles(keeper):
    page = keeper.get(PAGE)

    assert page.status_code == 200
    assert "bundle write" in page.text
    assert "enroll --offline --server http://testserver" in page.text


def test_chosen_bundles_are_imported_by_user(keeper, packed, person):
    page = keeper.post(PAGE, chosen(packed))

    assert page.status_code == 201
    assert "1 upload stored" in page.text
    assert Run.objects.count() == 1
    assert AuditEntry.objects.get(kind="imported").person == person
    assert "imported a bundle" in keeper.get("/labs/alpha-lab/audit-log/").text


def test_rejected_bundle_does_not_block_others(keeper, packed):
    page = keeper.post(PAGE, chosen(b"nothing", packed))

    assert page.status_code == 422
    assert "This is not a bundle" in page.text
    assert Run.objects.count() == 1


def test_missing_file_is_reported(keeper):
    page = keeper.post(PAGE)

    assert (page.status_code, "Choose at least one bundle." in page.text) == (422, True)
