"""A DOI that a version was given elsewhere: entered, shown, cited, logged."""

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


def test_it_is_a_link_and_in_citations_and_the_files_stay(admin, version):
    before = admin.get(f"/versions/{version.pk}.bib").content

    page = enter(admin, version, f" https://doi.org/{DOI.upper()} ")

    assert f'href="https://doi.org/{DOI}"' in page
    assert f"doi = {{{DOI}}}" in page
    [script] = re.findall(r"ld\+json\">(.*?)</script>", page)
    assert f"https://doi.org/{DOI}" in json.loads(script)["identifier"]
    assert admin.get(f"/versions/{version.pk}.bib").content == before
    entry = AuditEntry.objects.get(kind="set_doi")
    assert entry.about.endswith(DOI)


def test_an_admin_takes_it_away_again(admin, version):
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
def test_what_is_no_doi_is_refused(admin, version, doi):
    assert "A DOI looks like" in enter(admin, version, doi)
    assert Version.objects.get().doi == ""


def test_others_than_admins_enter_none(client, person, version):
    client.force_login(person)

    assert "Only an admin" in enter(client, version, DOI)
    Membership.objects.all().delete()
    assert client.post(f"/versions/{version.pk}/doi/", {"doi": DOI}).status_code == 404
    assert Version.objects.get().doi == ""


def test_a_lab_enters_it_through_the_api(version, token, other_token, read_token):
    api, place = Api(), f"versions/{version.pk}/"

    answer = api.patch(place, {"doi": DOI}, token=token)

    assert answer.json()["doi"] == DOI
    assert api.get(place).json()["doi"] == DOI
    assert api.patch(place, {"doi": "no"}, token=token).status_code == 422
    assert api.patch(place, {"title": "no"}, token=token).status_code == 400
    assert api.patch(place, {"doi": ""}, token=read_token).status_code == 403
    assert api.patch(place, {"doi": ""}, token=other_token).status_code == 404
    assert AuditEntry.objects.get(kind="set_doi").who == "alice"
