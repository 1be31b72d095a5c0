"""Import of study files on the page, and the links to exports."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks.models import Run, Study

IMPORT = "/studies/import/"
RUN = {
    "key": "3f0c6a52-8f3e-4c1d-9b1a-6f6d0c8b7a10",
    "system": {"host": "ws1", "hypervisor": "native"},
    "tool": "iometer",
    "samples": [{"metric": "network throughput", "value": 53.0, "unit": "MB/s"}],
}
FILE = {
    "format": "virtlab-study",
    "version": 1,
    "study": {"slug": "moved", "title": "A study of another server"},
    "hosts": [{"slug": "ws1"}],
    "runs": [RUN],
}


@pytest.fixture
def carol(client, person):
    client.force_login(person)
    return client


def send(client, content):
    file = SimpleUploadedFile("study.json", json.dumps(content).encode())
    return client.post(IMPORT, {"file": file})


def test_study_file_becomes_a_private_study(carol, lab):
    answer = send(carol, FILE)

    study = Study.objects.get()
    assert answer.url == "/studies/alpha-lab/moved/"
    assert (study.lab, study.visibility) == (lab, "private")
    assert Run.objects.get().agent.name.startswith("browser-")
    assert "1 new run" in carol.get(answer.url).content.decode()
    again = carol.get(send(carol, FILE).url).content.decode()
    assert "already exists. 0 runs" in again


def test_wrong_entries_are_listed_and_nothing_is_stored(carol):
    answer = send(carol, {**FILE, "runs": [{**RUN, "tool": "iometre"}]})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<code>runs[0]</code>" in page
    assert not Study.objects.exists()


def test_missing_and_large_files_are_refused(carol, settings):
    assert carol.post(IMPORT).status_code == 422

    settings.UPLOAD_LIMIT_BYTES = 100
    assert "Compress it" in send(carol, FILE).content.decode()


def test_only_maintainers_import(client, person, lab):
    lab.memberships.update(role="viewer")
    client.force_login(person)

    assert send(client, FILE).status_code == 403
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    "page", ["/studies/alpha-lab/study/", "/data/?study=alpha-lab/study"]
)
def test_pages_link_to_the_export(client, study, page):
    assert "/study-file/?study=alpha-lab/study" in client.get(page).content.decode()
