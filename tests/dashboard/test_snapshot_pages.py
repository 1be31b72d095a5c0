"""Snapshots as pages: frozen by who keeps the lab, read at an address that stays."""

import csv
import io
import json

import pytest
from django.contrib.auth import get_user_model

from benchmarks.models import Campaign, Membership, Snapshot
from tests.dashboard.exports import tex
from tests.dashboard.report import paper

STUDY = "/campaigns/alpha-lab/study/"


@pytest.fixture
def frozen(client, pair, person, freeze, monkeypatch):
    """Freeze the study on its page; return the snapshot. Nobody is signed in after."""
    freeze(Campaign.objects.get())  # the first: checks are done
    client.force_login(person)
    answer = client.post(f"{STUDY}freeze/", {"licence": "free"})
    assert answer.status_code == 302
    client.logout()
    return Snapshot.objects.latest("pk")


@pytest.fixture
def dave(other_lab):
    """A maintainer of another lab."""
    user = get_user_model().objects.create_user("dave")
    role = Membership.Role.MAINTAINER
    Membership.objects.create(lab=other_lab, user=user, role=role)
    return user


def test_who_keeps_the_lab_finds_the_button(client, text, pair, person):
    assert "freeze/" not in text(STUDY)
    client.force_login(person)

    assert f'href="{STUDY}freeze/"' in text(STUDY)


def test_the_question_about_licences_is_asked(client, text, pair, person, freeze):
    freeze(Campaign.objects.get())
    client.force_login(person)
    assert "Does a licence of the measured hypervisors restrict" in text(
        f"{STUDY}freeze/"
    )

    answer = client.post(f"{STUDY}freeze/", {"licence_note": "<b>none</b>"})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Say whether a licence" in page
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert Snapshot.objects.count() == 1


def test_the_page_has_every_form_and_says_how_to_cite_it(text, frozen):
    page = text(f"/snapshots/{frozen.pk}/")

    for file in frozen.files.all():
        assert f"/snapshots/{frozen.pk}.{file.form}" in page
        assert file.digest in page
    assert frozen.digest in page
    assert f"http://testserver/snapshots/{frozen.pk}/" in page
    assert "by carol" in page
    assert "Freeze" not in page


def test_its_files_hold_what_the_campaign_said(client, frozen):
    files = {
        form: client.get(f"/snapshots/{frozen.pk}.{form}").content
        for form in ("csv", "json", "tex", "pdf", "bib")
    }

    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))
    assert {row["value"] for row in rows} == {"52.97", "13.08"}
    said = json.loads(files["json"])
    assert (said["snapshot"], said["rule_set"], len(said["cells"])) == (2, 1, 2)
    assert tex.read(files["tex"].decode()).closed == ["tabular", "table"]
    assert "Virtlab" in "".join(paper.texts(files["pdf"]))
    assert f"snapshots/{frozen.pk}/" in files["bib"].decode()


def test_a_snapshot_stays_when_its_campaign_goes_on(
    client, frozen, submit, run_document
):
    before = client.get(f"/snapshots/{frozen.pk}.csv").content
    submit(run_document(99.0))
    Campaign.objects.update(title="Another title", author="Somebody else")

    assert client.get(f"/snapshots/{frozen.pk}.csv").content == before
    page = client.get(f"/snapshots/{frozen.pk}/").content.decode()
    assert "A study" in page
    assert "Somebody else" not in page


def test_only_who_keeps_the_lab_freezes_and_withdraws(client, frozen, dave):
    withdraw = f"/snapshots/{frozen.pk}/withdraw/"
    assert client.post(withdraw).url.startswith("/login/")
    client.force_login(dave)

    assert client.get(f"{STUDY}freeze/").status_code == 404
    assert client.post(withdraw, {"reason": "x"}).status_code == 404
    assert Snapshot.objects.filter(withdrawn_at=None).count() == 2


def test_what_is_withdrawn_says_so_first_and_its_link_works(client, frozen, person):
    client.force_login(person)
    client.post(f"/snapshots/{frozen.pk}/withdraw/", {"reason": "Wrong <disk>."})
    client.logout()

    page = client.get(f"/snapshots/{frozen.pk}/").content.decode()

    assert "Wrong &lt;disk&gt;." in page
    assert "Do not cite it any more" in page
    assert client.get(f"/snapshots/{frozen.pk}.pdf").content.startswith(b"%PDF")
    assert "withdrawn" in client.get(STUDY).content.decode()


def test_a_reviewer_of_another_lab_signs(client, frozen, dave):
    client.force_login(dave)
    page = f"/snapshots/{frozen.pk}/"
    assert "Sign this snapshot" in client.get(page).content.decode()

    said = {"lab": "beta-lab", "note": "Repeated the disk runs."}
    answer = client.post(f"{page}sign/", said, follow=True)

    shown = answer.content.decode()
    assert "Repeated the disk runs." in shown
    assert "dave, Beta lab" in shown
    assert "Sign this snapshot" not in shown


def test_nobody_signs_for_a_lab_that_is_not_theirs(client, frozen, dave, person):
    client.force_login(dave)
    sign = f"/snapshots/{frozen.pk}/sign/"

    assert client.post(sign, {"lab": "alpha-lab", "note": "x"}).status_code == 404
    client.force_login(person)
    answer = client.post(sign, {"lab": "alpha-lab", "note": "x"}, follow=True)
    assert "cannot sign its own" in answer.content.decode()


def test_a_private_one_is_not_there_for_others(client, frozen, person):
    Campaign.objects.update(visibility="private")
    addresses = [f"/snapshots/{frozen.pk}/", f"/snapshots/{frozen.pk}.csv"]

    assert [client.get(each).status_code for each in addresses] == [404, 404]
    client.force_login(person)
    assert [client.get(each).status_code for each in addresses] == [200, 200]


def test_an_unknown_form_or_number_is_not_there(client, frozen):
    assert client.get(f"/snapshots/{frozen.pk}.docx").status_code == 404
    assert client.get("/snapshots/999999/").status_code == 404
