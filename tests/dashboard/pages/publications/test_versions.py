"""Versions as pages: published by a lab's keepers, read at an address that stays."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.utils import timezone

from benchmarks.models import Membership, PublishingJob, Study, System, Version
from benchmarks.studies import checking
from benchmarks.unattended import queue
from dashboard.exports import publications
from dashboard.exports.publications import version_texts
from dashboard.kit import waiting
from dashboard.pages.publications import views
from tests import jobs
from tests.dashboard.exports import tex
from tests.dashboard.pages.report import paper
from tests.own_tools import boot_sample, declare

STUDY = "/studies/alpha-lab/study/"
WAITING_NOTE = 'class="note note-wait section-tight"'


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """No worker runs here: nobody waits for one."""
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)


@pytest.fixture
def settled(pair):
    """The checks of its runs are done."""
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def requested(client, person, settled, monkeypatch, django_capture_on_commit_callbacks):
    """Ask for the study to be published; return the answer and what was sent for it."""

    def ask(**changes):
        sent = []
        monkeypatch.setattr(views, "send", lambda *hint: sent.append(hint))
        client.force_login(person)
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(f"{STUDY}publish/", {"licence": "free", **changes})
        return answer, sent

    return ask


@pytest.fixture
def published(client, publish, requested):
    """Publish the study by its page; return the version. Nobody is signed in after."""
    publish(Study.objects.get())
    for hint in requested()[1]:
        queue.run(*hint)
    client.logout()
    return Version.objects.latest("pk")


@pytest.fixture
def dave(other_lab):
    """A maintainer of another lab."""
    user = get_user_model().objects.create_user("dave")
    role = Membership.Role.MAINTAINER
    Membership.objects.create(lab=other_lab, user=user, role=role)
    return user


def test_who_keeps_the_lab_finds_the_button(client, text, pair, person):
    assert "publish/" not in text(STUDY)
    client.force_login(person)

    assert f'href="{STUDY}publish/"' in text(STUDY)


def test_the_question_about_licences_is_asked(client, text, settled, person):
    client.force_login(person)
    asked = text(f"{STUDY}publish/")
    assert re.findall(r'name="licence" value="(\w+)"', asked) == ["free", "permitted"]
    assert 'role="alert" id="problem"' not in asked

    answer = client.post(f"{STUDY}publish/", {"licence_note": "<b>none</b>"})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'role="alert" id="problem"' in page
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert not PublishingJob.objects.exists()


def test_who_waits_sees_how_far_it_is_and_then_the_version(client, requested):
    answer, (hint,) = requested()
    assert hint == ("publishing", PublishingJob.objects.get().pk)
    assert answer.url == f"/publishing/{hint[1]}/"
    page = client.get(answer.url).content.decode()
    assert 'hx-trigger="every 500ms"' in page
    assert '<progress class="upload-bar" max="3" value="0"' in page
    assert "carol" in page[page.index("page-head") : page.index("making")]

    queue.run(*hint)

    version = Version.objects.get()
    part = client.get(answer.url, headers={"HX-Request": "true"})
    assert part["HX-Redirect"] == f"/versions/{version.pk}/"
    assert client.get(answer.url).url == f"/versions/{version.pk}/"
    shown = client.get(part["HX-Redirect"]).content.decode()
    assert shown.count('<li class="note">') == 1


def test_one_that_is_under_way_is_led_to_from_everywhere(client, text, requested):
    answer, _sent = requested()

    assert client.get(f"{STUDY}publish/").url == answer.url
    assert requested()[0].url == answer.url
    assert requested()[1] == []
    assert f'href="{answer.url}"' in text(STUDY)
    client.logout()
    assert "/publishing/" not in text(STUDY)


def test_it_is_done_in_the_answer_where_a_worker_is_quick(
    client, requested, monkeypatch
):
    def work(made, *fields):
        queue.run("publishing", made.pk)
        made.refresh_from_db()

    monkeypatch.setattr(views, "wait_a_moment", work)

    assert requested()[0].url == f"/versions/{Version.objects.get().pk}/"


def test_why_it_was_not_published_is_said_and_the_answer_is_kept(
    client, text, requested
):
    answer, (hint,) = requested(licence="permitted", licence_note="Ada, in May.")
    Study.objects.update(note="another")
    queue.run(*hint)

    page = text(answer.url)
    assert page.count('class="note note-bad section-tight"') == 1
    assert "study has changed" in page
    assert "hx-trigger" not in page
    assert "Ada, in May." in text(f"{STUDY}publish/")
    assert not Version.objects.exists()


def test_what_breaks_is_said_to_be_in_the_log(text, requested, monkeypatch, caplog):
    answer, (hint,) = requested()
    monkeypatch.setattr(publications, "pdf", lambda *given: 1 / 0)
    queue.run(*hint)

    assert "The files could not be written. See the log" in text(answer.url)
    assert "ZeroDivisionError" in caplog.text
    assert jobs.failed().get().quarantined_at
    assert not Version.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_went_away_is_no_failure_of_it(requested, monkeypatch):
    def away(*given):
        raise OperationalError("the connection is closed")

    _answer, (hint,) = requested()
    with monkeypatch.context() as broken:
        broken.setattr(publications, "pdf", away)
        with pytest.raises(OperationalError):
            queue.run(*hint)

    assert PublishingJob.objects.get().stage == "typesetting"
    assert not jobs.failed().exists()
    assert queue.run(*hint) == 1
    assert Version.objects.exists()


def test_a_message_that_comes_twice_publishes_once(requested):
    _answer, (hint,) = requested()
    queue.run(*hint)
    queue.run(*hint)

    assert Version.objects.count() == 1


def test_what_no_worker_takes_says_so_and_what_to_do(text, requested):
    answer, _sent = requested()
    assert WAITING_NOTE not in text(answer.url)
    PublishingJob.objects.update(requested_at=timezone.now() - 2 * waiting.OVERDUE)

    assert WAITING_NOTE in text(answer.url)


def test_a_german_reader_publishes_the_same_numbers(client, requested):
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    _answer, (hint,) = requested()
    queue.run(*hint)

    texts = paper.texts(bytes(Version.objects.get().files.get(name="pdf").content))
    assert any("52.97" in text for text in texts)


def test_why_it_cannot_be_published_now_is_said_before_the_form_is_filled_in(
    client, text, person, study
):
    client.force_login(person)

    page = text(f"{STUDY}publish/")

    problem = page[page.index('id="problem"') :]
    assert "no results" in problem[: problem.index("</p>")]


def test_the_page_has_every_form_and_says_how_to_cite_it(text, published):
    page = text(f"/versions/{published.pk}/")

    for file in published.files.all():
        assert f"/versions/{published.pk}.{file.name}" in page
        assert file.digest in page
    assert published.digest in page
    assert f"http://testserver/versions/{published.pk}/" in page
    assert "by carol" in page
    assert "publish/" not in page


def test_its_files_hold_what_the_study_said(client, published):
    files = {
        form: client.get(f"/versions/{published.pk}.{form}").content
        for form in ("csv", "json", "tex", "pdf", "bib")
    }

    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))
    assert {row["value"] for row in rows} == {"52.97", "13.08"}
    said = json.loads(files["json"])
    assert (said["version"], said["rule_set"], len(said["cells"])) == (2, 2, 2)
    assert tex.read(files["tex"].decode()).closed == ["tblr", "table"]
    assert "Virtlab" in "".join(paper.texts(files["pdf"]))
    assert f"versions/{published.pk}/" in files["bib"].decode()


def test_a_version_stays_when_its_study_goes_on(
    client, published, submit, run_document
):
    before = client.get(f"/versions/{published.pk}.csv").content
    submit(run_document(99.0))
    Study.objects.update(title="Another title", author="Somebody else")

    assert client.get(f"/versions/{published.pk}.csv").content == before
    page = client.get(f"/versions/{published.pk}/").content.decode()
    assert "A study" in page
    assert "Somebody else" not in page


def test_only_who_keeps_the_lab_publishes_and_withdraws(client, published, dave):
    withdraw = f"/versions/{published.pk}/withdraw/"
    assert client.post(withdraw).url.startswith("/login/")
    client.force_login(dave)

    assert client.get(f"{STUDY}publish/").status_code == 404
    assert client.post(withdraw, {"reason": "x"}).status_code == 404
    assert Version.objects.filter(withdrawn_at=None).count() == 2


def test_what_is_withdrawn_says_so_first_and_its_link_works(client, published, person):
    client.force_login(person)
    client.post(f"/versions/{published.pk}/withdraw/", {"reason": "Wrong <disk>."})
    client.logout()

    page = client.get(f"/versions/{published.pk}/").content.decode()

    warning = page.index('class="note note-bad" role="note"')
    assert warning < page.index("Wrong &lt;disk&gt;.") < page.index(".pdf")
    assert client.get(f"/versions/{published.pk}.pdf").content.startswith(b"%PDF")
    assert "withdrawn" in client.get(STUDY).content.decode()


def test_a_reviewer_of_another_lab_signs(client, published, dave):
    client.force_login(dave)
    page = f"/versions/{published.pk}/"
    form = f'action="{page}sign/"'
    assert form in client.get(page).content.decode()

    said = {"lab": "beta-lab", "note": "Repeated the disk runs."}
    answer = client.post(f"{page}sign/", said, follow=True)

    shown = answer.content.decode()
    assert "Repeated the disk runs." in shown
    assert "dave, Beta lab" in shown
    assert form not in shown


def test_nobody_signs_for_a_lab_that_is_not_theirs(client, published, dave, person):
    client.force_login(dave)
    sign = f"/versions/{published.pk}/sign/"

    assert client.post(sign, {"lab": "alpha-lab", "note": "x"}).status_code == 404
    client.force_login(person)
    answer = client.post(sign, {"lab": "alpha-lab", "note": "x"}, follow=True)
    assert answer.content.decode().count("data-in-vain") == 1
    assert not published.signatures.exists()


def test_a_private_one_is_not_there_for_others(client, published, person):
    Study.objects.update(visibility="private")
    addresses = [f"/versions/{published.pk}/", f"/versions/{published.pk}.csv"]

    assert [client.get(each).status_code for each in addresses] == [404, 404]
    client.force_login(person)
    assert [client.get(each).status_code for each in addresses] == [200, 200]


def test_an_unknown_form_or_number_is_not_there(client, published):
    assert client.get(f"/versions/{published.pk}.docx").status_code == 404
    assert client.get("/versions/999999/").status_code == 404


def test_its_files_name_the_reference_where_there_is_no_native_machine(
    submit, run_document, xen, publish, study
):
    submit(
        run_document(20.0, system=xen), run_document(30.0, system={"hypervisor": "KVM"})
    )
    study.reference_system = System.objects.get(hypervisor="KVM")
    study.save()

    texts = version_texts(publish(study), "http://testserver")

    files = {form: text.decode() for form, text in texts.items()}
    assert "compared with KVM" in files["tex"]
    assert json.loads(files["json"])["against"].startswith("compared with KVM")
    lines = list(csv.DictReader(io.StringIO(files["csv"])))
    assert {line["against"][:17] for line in lines} == {"compared with KVM"}
    assert {line["address"] for line in lines} == {json.loads(files["json"])["address"]}


def test_its_page_and_its_files_hold_what_was_declared(
    client, lab, study, submit, run_document, publish
):
    declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    checking.check_due_studies(timedelta(0))
    version = publish(study)

    page = client.get(f"/versions/{version.pk}/").text
    document = json.loads(version_texts(version, "http://testserver")["json"])
    answer = client.get(f"/api/v1/versions/{version.pk}/").json()

    assert '<code class="small">alpha-lab:boot-time</code>' in page
    assert "Boot stopwatch" in page
    for kept in (document["declarations"], answer["declarations"]):
        assert kept[0]["metrics"][0]["name"] == "boot time"
