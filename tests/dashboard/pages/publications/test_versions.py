"""Versions: publication by editors, permanent pages, signatures, withdrawal."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.utils import timezone

from benchmarks.jobs import queue
from benchmarks.models import Membership, PublishingJob, Study, System, Version
from benchmarks.studies import checking
from dashboard.exports import version_and_review_files
from dashboard.exports.version_and_review_files import version_files
from dashboard.kit import generation_progress
from dashboard.pages.publications import views
from tests import job_queue
from tests.custom_tools import boot_sample, declare
from tests.dashboard.exports import latex_reader
from tests.dashboard.pages.report import pdf_reader

STUDY = "/studies/alpha-lab/study/"
WAITING_NOTE = 'class="note note-wait section-tight"'


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for versions, because no worker runs."""
    monkeypatch.setattr(generation_progress, "MAX_GENERATION_WAIT_S", 0)


@pytest.fixture
def settled(pair):
    """Finish the checks of the runs."""
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def request_publication(
    client, person, settled, monkeypatch, django_capture_on_commit_callbacks
):
    """Request publication; return the response and the sent tasks."""

    def ask(**changes):
        sent = []
        monkeypatch.setattr(views, "dispatch_jobs", lambda *hint: sent.append(hint))
        client.force_login(person)
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(
                f"{STUDY}publish/", {"publishing_permission": "unrestricted", **changes}
            )
        return answer, sent

    return ask


@pytest.fixture
def published(client, publish, request_publication):
    """Publish the study on its page, sign out and return the version."""
    publish(Study.objects.get())
    for hint in request_publication()[1]:
        queue.run_due_jobs(*hint)
    client.logout()
    return Version.objects.latest("pk")


@pytest.fixture
def dave(other_lab):
    """Return a maintainer of another lab."""
    user = get_user_model().objects.create_user("dave")
    role = Membership.Role.MAINTAINER
    Membership.objects.create(lab=other_lab, user=user, role=role)
    return user


def test_editor_sees_button(client, text, pair, person):
    assert "publish/" not in text(STUDY)
    client.force_login(person)

    assert f'href="{STUDY}publish/"' in text(STUDY)


def test_form_asks_for_publishing_permission(client, text, settled, person):
    client.force_login(person)
    asked = text(f"{STUDY}publish/")
    assert re.findall(r'name="publishing_permission" value="(\w+)"', asked) == [
        "unrestricted",
        "granted",
    ]
    assert 'role="alert" id="problem"' not in asked

    answer = client.post(f"{STUDY}publish/", {"permission_note": "<b>none</b>"})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'role="alert" id="problem"' in page
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert not PublishingJob.objects.exists()


def test_progress_page_leads_to_version(client, request_publication):
    answer, (hint,) = request_publication()
    assert hint == ("publishing", PublishingJob.objects.get().pk)
    assert answer.url == f"/publishing/{hint[1]}/"
    page = client.get(answer.url).content.decode()
    assert 'hx-trigger="every 500ms"' in page
    assert '<progress class="upload-bar" max="3" value="0"' in page
    assert "carol" in page[page.index("page-head") : page.index("making")]

    queue.run_due_jobs(*hint)

    version = Version.objects.get()
    part = client.get(answer.url, headers={"HX-Request": "true"})
    assert part["HX-Redirect"] == f"/versions/{version.pk}/"
    assert client.get(answer.url).url == f"/versions/{version.pk}/"
    shown = client.get(part["HX-Redirect"]).content.decode()
    assert shown.count('<li class="note">') == 1


def test_pages_link_to_request_in_progress(client, text, request_publication):
    answer, _sent = request_publication()

    assert client.get(f"{STUDY}publish/").url == answer.url
    assert request_publication()[0].url == answer.url
    assert request_publication()[1] == []
    assert f'href="{answer.url}"' in text(STUDY)
    client.logout()
    assert "/publishing/" not in text(STUDY)


def test_fast_worker_finishes_within_request(client, request_publication, monkeypatch):
    def work(made, *fields):
        queue.run_due_jobs("publishing", made.pk)
        made.refresh_from_db()

    monkeypatch.setattr(views, "wait_briefly", work)

    assert request_publication()[0].url == f"/versions/{Version.objects.get().pk}/"


def test_failure_is_shown_and_input_is_kept(client, text, request_publication):
    answer, (hint,) = request_publication(
        publishing_permission="granted", permission_note="Ada, in May."
    )
    Study.objects.update(note="another")
    queue.run_due_jobs(*hint)

    page = text(answer.url)
    assert page.count('class="note note-bad section-tight"') == 1
    assert "study has changed" in page
    assert "hx-trigger" not in page
    assert "Ada, in May." in text(f"{STUDY}publish/")
    assert not Version.objects.exists()


def test_unexpected_error_refers_to_log(text, request_publication, monkeypatch, caplog):
    answer, (hint,) = request_publication()
    monkeypatch.setattr(version_and_review_files, "render_pdf", lambda *given: 1 / 0)
    queue.run_due_jobs(*hint)

    assert "The files could not be written. An administrator can find" in text(
        answer.url
    )
    assert "ZeroDivisionError" in caplog.text
    assert job_queue.failed().get().quarantined_at
    assert not Version.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_lost_database_is_not_failure(request_publication, monkeypatch):
    def away(*given):
        raise OperationalError("the connection is closed")

    _answer, (hint,) = request_publication()
    with monkeypatch.context() as broken:
        broken.setattr(version_and_review_files, "render_pdf", away)
        with pytest.raises(OperationalError):
            queue.run_due_jobs(*hint)

    assert PublishingJob.objects.get().stage == "typesetting"
    assert not job_queue.failed().exists()
    assert queue.run_due_jobs(*hint) == 1
    assert Version.objects.exists()


def test_repeated_task_publishes_once(request_publication):
    _answer, (hint,) = request_publication()
    queue.run_due_jobs(*hint)
    queue.run_due_jobs(*hint)

    assert Version.objects.count() == 1


def test_request_without_worker_is_reported(text, request_publication):
    answer, _sent = request_publication()
    assert WAITING_NOTE not in text(answer.url)
    PublishingJob.objects.update(
        requested_at=timezone.now() - 2 * generation_progress.OVERDUE_AFTER
    )

    assert WAITING_NOTE in text(answer.url)


def test_language_does_not_change_published_numbers(client, request_publication):
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    _answer, (hint,) = request_publication()
    queue.run_due_jobs(*hint)

    texts = pdf_reader.texts(bytes(Version.objects.get().files.get(name="pdf").content))
    assert any("52.97" in text for text in texts)


def test_obstacle_is_shown_before_form(client, text, person, study):
    client.force_login(person)

    page = text(f"{STUDY}publish/")

    problem = page[page.index('id="problem"') :]
    assert "no results" in problem[: problem.index("</p>")]


def test_page_has_all_formats_and_citation(text, published):
    page = text(f"/versions/{published.pk}/")

    for file in published.files.all():
        assert f"/versions/{published.pk}.{file.name}" in page
        assert file.digest in page
    assert published.digest in page
    assert f"http://testserver/versions/{published.pk}/" in page
    assert "by carol" in page
    assert "publish/" not in page


def test_files_have_description_of_study(client, published):
    files = {
        form: client.get(f"/versions/{published.pk}.{form}").content
        for form in ("csv", "json", "tex", "pdf", "bib")
    }

    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))
    assert {row["value"] for row in rows} == {"52.97", "13.08"}
    said = json.loads(files["json"])
    assert (said["version"], said["rule_set"], len(said["cells"])) == (2, 3, 2)
    assert latex_reader.read(files["tex"].decode()).closed == ["tblr", "table"]
    assert "Virtlab" in "".join(pdf_reader.texts(files["pdf"]))
    assert f"versions/{published.pk}/" in files["bib"].decode()


def test_version_does_not_change_with_study(client, published, submit, run_document):
    before = client.get(f"/versions/{published.pk}.csv").content
    submit(run_document(99.0))
    Study.objects.update(title="Another title", author="Somebody else")

    assert client.get(f"/versions/{published.pk}.csv").content == before
    page = client.get(f"/versions/{published.pk}/").content.decode()
    assert "A study" in page
    assert "Somebody else" not in page


def test_only_editors_publish_and_withdraw(client, published, dave):
    withdraw = f"/versions/{published.pk}/withdraw/"
    assert client.post(withdraw).url.startswith("/login/")
    client.force_login(dave)

    assert client.get(f"{STUDY}publish/").status_code == 404
    assert client.post(withdraw, {"reason": "x"}).status_code == 404
    assert Version.objects.filter(withdrawn_at=None).count() == 2


def test_withdrawn_version_is_marked_and_available(client, published, person):
    client.force_login(person)
    client.post(f"/versions/{published.pk}/withdraw/", {"reason": "Wrong <disk>."})
    client.logout()

    page = client.get(f"/versions/{published.pk}/").content.decode()

    warning = page.index('class="note note-bad" role="note"')
    assert warning < page.index("Wrong &lt;disk&gt;.") < page.index(".pdf")
    assert client.get(f"/versions/{published.pk}.pdf").content.startswith(b"%PDF")
    assert "withdrawn" in client.get(STUDY).content.decode()


def test_member_of_another_lab_signs(client, published, dave):
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


def test_signing_for_other_lab_is_rejected(client, published, dave, person):
    client.force_login(dave)
    sign = f"/versions/{published.pk}/sign/"

    assert client.post(sign, {"lab": "alpha-lab", "note": "x"}).status_code == 404
    client.force_login(person)
    answer = client.post(sign, {"lab": "alpha-lab", "note": "x"}, follow=True)
    assert answer.content.decode().count("data-submit-failed") == 1
    assert not published.signatures.exists()


def test_private_version_is_404_for_others(client, published, person):
    Study.objects.update(visibility="private")
    addresses = [f"/versions/{published.pk}/", f"/versions/{published.pk}.csv"]

    assert [client.get(each).status_code for each in addresses] == [404, 404]
    client.force_login(person)
    assert [client.get(each).status_code for each in addresses] == [200, 200]


def test_unknown_format_or_version_is_404(client, published):
    assert client.get(f"/versions/{published.pk}.docx").status_code == 404
    assert client.get("/versions/999999/").status_code == 404


def test_files_name_reference_without_native_system(
    submit, run_document, xen, publish, study
):
    submit(
        run_document(20.0, system=xen), run_document(30.0, system={"hypervisor": "KVM"})
    )
    study.reference_system = System.objects.get(hypervisor="KVM")
    study.save()

    texts = version_files(publish(study), "http://testserver")

    files = {form: text.decode() for form, text in texts.items()}
    assert "compared with KVM" in files["tex"]
    assert json.loads(files["json"])["compared_with"].startswith("compared with KVM")
    lines = list(csv.DictReader(io.StringIO(files["csv"])))
    assert {line["compared_with"][:17] for line in lines} == {"compared with KVM"}
    assert {line["url"] for line in lines} == {json.loads(files["json"])["url"]}


def test_page_and_files_have_custom_tools(
    client, lab, study, submit, run_document, publish
):
    declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    checking.check_due_studies(timedelta(0))
    version = publish(study)

    page = client.get(f"/versions/{version.pk}/").text
    document = json.loads(version_files(version, "http://testserver")["json"])
    answer = client.get(f"/api/v1/versions/{version.pk}/").json()

    assert '<code class="small">alpha-lab:boot-time</code>' in page
    assert "Boot stopwatch" in page
    for kept in (document["custom_tools"], answer["custom_tools"]):
        assert kept[0]["metrics"][0]["name"] == "boot time"
