"""The DOI of a version registered elsewhere."""

import json
import re

import pytest

from benchmarks.models import AuditEntry, Membership, Version
from tests.api.conftest import Api

DOI = "10.5281/zenodo.1234567"


@pytest.fixture
def version(publish, study, pair):
    return publish(study)


@pytest.fixture
def admin(client, person, version):
    Membership.objects.update(role="admin")
    client.force_login(person)
    return client


def enter(client, version, doi):
    place = f"/versions/{version.pk}/doi/"
    return client.post(place, {"doi": doi}, follow=True).text


def test_doi_is_in_link_and_citations_but_not_files(admin, version):
    before = admin.get(f"/versions/{version.pk}.bib").content

    page = enter(admin, version, f" https://doi.org/{DOI.upper()} ")

    assert f'href="https://doi.org/{DOI}"' in page
    assert f"doi = {{{DOI}}}" in page
    [script] = re.findall(r"ld\+json\">(.*?)</script>", page)
    assert f"https://doi.org/{DOI}" in json.loads(script)["identifier"]
    assert admin.get(f"/versions/{version.pk}.bib").content == before
    entry = AuditEntry.objects.get(kind="set_doi")
    assert entry.about.endswith(DOI)


def test_admin_removes_doi(admin, version):
    enter(admin, version, DOI)

    assert "doi.org" not in enter(admin, version, "")
    assert AuditEntry.objects.filter(kind="set_doi").count() == 2


@pytest.mark.parametrize(
    "doi",
    [
        *("10.5281", "11.5281/x", "10.52/x", "10.5281/a b", "10.5281/a{b}"),
        *(
            "10.5281/<script>",
            "javascript:alert(1)",
            "10.5281/" + "x" * 300,
            "10.5281/ü",
        ),
    ],
)
def test_invalid_doi_is_rejected(admin, version, doi):
    assert "A DOI looks like" in enter(admin, version, doi)
    assert Version.objects.get().doi == ""


def test_only_admins_enter_doi(client, person, version):
    client.force_login(person)

    assert "Only an admin" in enter(client, version, DOI)
    Membership.objects.all().delete()
    assert client.post(f"/versions/{version.pk}/doi/", {"doi": DOI}).status_code == 404
    assert Version.objects.get().doi == ""


def test_doi_is_entered_through_api(version, token, other_token, read_token):
    api, place = Api(), f"versions/{version.pk}/"

    answer = api.patch(place, {"doi": DOI}, token=token)

    assert answer.json()["doi"] == DOI
    assert api.get(place).json()["doi"] == DOI
    assert api.patch(place, {"doi": "no"}, token=token).status_code == 422
    assert api.patch(place, {"title": "no"}, token=token).status_code == 400
    assert api.patch(place, {"doi": ""}, token=read_token).status_code == 403
    assert api.patch(place, {"doi": ""}, token=other_token).status_code == 404
    assert AuditEntry.objects.get(kind="set_doi").actor == "alice"
