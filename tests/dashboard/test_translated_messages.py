"""Messages on parsed, rejected and flagged uploads are translated."""

import io
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from benchmarks.models import Reparse, Run, RunOutput, Study
from benchmarks.parsing import archives, run_extraction
from benchmarks.parsing.archives import ArchiveMember
from benchmarks.studies import checking, systems
from benchmarks.uploads import processing, reparsing
from dashboard import wording
from dashboard.pages.upload.files import FileHints, SampleBudget, preview_file
from tests.dashboard.marked_language import (
    WORD,
    marked_language,
    strings,
    translated,
    unmarked,
    untranslated,
    words_of_data,
)
from tests.data.rebuild import DATA, outputs

SCRIPT = {"X-Requested-With": "XMLHttpRequest"}
GERMAN = {"accept-language": "de-DE"}
DOUBTED = DATA / "hpcc/appended-1.4.txt"
COMMA = DATA / "partdiff/german-comma.txt"
HDPARM = b" Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec\n"


@pytest.fixture
def member(client, person):
    """Return the client of Carol, a maintainer of the lab."""
    client.force_login(person)
    return client


@pytest.fixture
def place(study, lab, host):
    """Return form fields with the destination of files."""
    described = {"host": host.slug, "hypervisor": "KVM", "vcpus": 2}
    system, _ = systems.register_system(lab=lab, description=described)
    return {"study": study.slug, "system": system.pk, "scenario": "single"}


def upload(data, name="room.txt"):
    return SimpleUploadedFile(name, data)


def zipped(*files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return upload(buffer.getvalue(), "room.zip")


def send(client, *files, do="preview", headers=SCRIPT, **fields):
    asked = {"do": do, "file": list(files), **fields}
    return client.post("/upload/", asked, headers=headers)


def untranslated_in(page, *names):
    """Return untranslated texts of a page, except names and parsed parameters."""
    words = (word for name in names for word in WORD.findall(name))
    return untranslated(page, words_of_data() | {*map(str.casefold, words)})


def names_in(data):
    """Return names from an output: parameters, versions, commands."""
    runs = run_extraction.extract_runs(data)
    said = [[dict(reading.parameters) for reading in run.readings] for run in runs]
    return [*strings(said), *(run.command for run in runs)]


def damaged(path):
    """Yield an output three times: complete, truncated, and with invalid numbers."""
    data = path.read_bytes()
    yield data
    yield data[: len(data) // 2]
    yield re.sub(rb"\d+\.\d+", b"nan", data, count=3)


def messages_of(data):
    """Return all messages about an output."""
    shown = preview_file(
        ArchiveMember(0, "room.txt", data), FileHints(), SampleBudget(0), {}
    )
    results = shown.get("results", ())
    troubles = [shown.get("problem"), *(result["problem"] for result in results)]
    marks = [mark for result in results for mark in result["run"].warnings]
    yield from (trouble.reason for trouble in troubles if trouble)
    yield from (wording.translate_text(mark.message) for mark in marks)


# Parsing


def test_every_message_about_an_output_is_translatable():
    with marked_language(), translation.override("en"):
        texts = [data for path in outputs() for data in damaged(path)]
        said = {saying for data in texts for saying in messages_of(data)}

    left = {item for item in said if WORD.search(unmarked(item))}
    assert len(said) > 100
    assert not left


def test_previews_with_warnings_are_translated(member):
    data = DOUBTED.read_bytes()

    with marked_language():
        page = send(member, upload(data))

    assert "⟦MPIRandomAccess_Errors is 117.⟧" in page.content.decode()
    assert untranslated_in(page, "room.txt", *names_in(data)) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (COMMA.read_bytes(), {}),
        (COMMA.read_bytes(), {"tool": "fio"}),
        (COMMA.read_bytes(), {"tool": "iometre"}),
        (COMMA.read_bytes(), {"locale": "xx"}),
        (b"", {}),
        (b"hello", {}),
        (b"\0\1\2" * 90, {}),
        (b"\xff\xfeh\0\0\xd8h\0h\0h\0h\0", {}),
    ],
)
def test_messages_of_rejected_outputs_are_translated(member, data, said):
    with marked_language():
        page = send(member, upload(data), **said)

    assert "upload-problem" in page.content.decode()
    assert untranslated_in(page, "room.txt iometre Iometer partdiff") == []


def test_messages_about_archives_are_translated(member, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", archives.MIB)
    inner = zipped(("inner.txt", b"hello")).read()
    room = zipped(("inner.zip", inner), ("disk.txt", HDPARM), ("none.txt", b""))

    with marked_language():
        pages = [send(member, item) for item in (room, *invalid_zips())]

    assert [page.status_code for page in pages] == [200, 422, 422, 413]
    names = [*names_in(HDPARM), "inner disk none room zip txt"]
    assert [left for page in pages for left in untranslated_in(page, *names)] == []


def invalid_zips():
    """Return a damaged ZIP file, an empty one, and one above the size limit."""
    yield upload(b"PK\3\4 and nothing more", "room.zip")
    yield zipped()
    yield zipped(("disk.txt", b" " * 2 * archives.MIB))


def test_messages_about_large_files_are_translated(member, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000

    with marked_language():
        page = send(member, upload(b"x" * 1001))

    assert page.status_code == 413
    assert untranslated_in(page, "room.txt") == []


# Results of uploads


def test_upload_results_are_translated(member, place, settings):
    with marked_language():
        stored = send(member, upload(HDPARM), do="store", **place)
        again = send(member, upload(HDPARM), do="store", **place)
        nowhere = send(member, upload(HDPARM), do="store")
        odd = send(member, upload(HDPARM), do="store", **place, slot="a\u202eb")
        binary = send(member, upload(b"\0\1\2" * 90), do="store", **place)

    pages = [stored, again, nowhere, odd, binary]
    assert [page.status_code for page in pages] == [200, 200, 422, 422, 422]
    assert [left for page in pages for left in untranslated_in(page, "room.txt")] == []


def test_messages_about_invalid_systems_are_translated(member, host):
    with marked_language():
        page = member.post(
            "/upload/systems/",
            {"host": host.slug, "hypervisor": "a\u202eb"},
            headers=SCRIPT,
        )

    assert page.status_code == 422
    assert untranslated_in(page) == []


# Stored runs


@pytest.fixture
def stored_runs(member, place):
    """Store a flagged output and a rejected one; return the runs of both."""
    for path in (DOUBTED, COMMA):
        send(member, upload(path.read_bytes(), path.name), do="store", **place)
    processing.process_due_uploads()
    checking.check_study(Study.objects.get())
    return Run.objects.order_by("pk")


def test_warnings_and_flags_of_runs_are_translated(member, stored_runs):
    own = "/studies/alpha-lab/study/"
    addresses = [
        *(f"/runs/{run.pk}/" for run in stored_runs),
        f"{own}runs/",
        f"{own}flags/",
    ]

    with marked_language():
        pages = [member.get(address) for address in addresses]

    *runs, listed, flags = (page.content.decode() for page in pages)
    assert "⟦MPIRandomAccess_Errors is 117.⟧" in "".join(runs)
    failure = "⟦The summary does not contain Success=1, so a test failed.⟧"
    assert failure in flags
    assert failure in listed
    names = [DOUBTED.name, COMMA.name, *names_in(DOUBTED.read_bytes())]
    assert [left for page in pages for left in untranslated_in(page, *names)] == []


def test_older_english_messages_are_shown(member, stored_runs):
    Run.objects.update(warnings=[{"code": "x", "sentence": "It is in doubt."}])
    Run.objects.update(reason="It was refused.")

    page = member.get(f"/runs/{stored_runs[0].pk}/").content.decode()

    assert "It is in doubt." in page
    assert "It was refused." in page


@pytest.fixture
def reparsed_page(member, place):
    """Store an output and reparse it with another number; return the page."""
    send(member, upload(HDPARM), do="store", **place)
    processing.process_due_uploads()
    output = RunOutput.objects.get()
    output.text = output.text.replace("105.75", "106.75")
    output.save()
    member.post("/studies/alpha-lab/study/reparse/")
    reparsing.advance_reparses()
    return f"/reparses/{Reparse.objects.get().pk}/"


def test_reparse_results_are_translated(member, reparsed_page):
    with marked_language():
        page = member.get(reparsed_page)

    assert "⟦changed⟧" in page.content.decode()
    assert untranslated_in(page) == []


# Number formats


def test_sizes_and_numbers_have_german_format(member, tmp_path):
    data = COMMA.read_bytes().ljust(1536)
    said = {"locale": "de_DE", "headers": {**SCRIPT, **GERMAN}}

    with translated("de", tmp_path):
        page = send(member, upload(data), **said).content.decode()

    assert "199,412706\N{NO-BREAK SPACE}s" in page
    assert "1,5\N{NO-BREAK SPACE}KiB" in page


def test_reparse_changes_have_german_format(member, reparsed_page, tmp_path):
    with translated("de", tmp_path):
        page = member.get(reparsed_page, headers=GERMAN).content.decode()

    assert "110,886912" in page  # in MB, not MiB
    assert "111,935488" in page
