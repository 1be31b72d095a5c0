"""What is read in uploads, refused or doubted is said in the reader's language too."""

import io
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from benchmarks.models import Reread, Run, RunOutput, Study
from benchmarks.parsing import archives, reading
from benchmarks.parsing.archives import Member
from benchmarks.studies import checking, systems
from benchmarks.uploads import processing, rereading
from dashboard import wording
from dashboard.pages.upload.files import Named, Room, preview
from tests.dashboard.marking import (
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
    """Carol's browser: she maintains the lab."""
    client.force_login(person)
    return client


@pytest.fixture
def place(study, lab, host):
    """Where files belong, as the form says it."""
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


def left_in(page, *names):
    """Return what of a page no translator saw, names and read parameters apart."""
    words = (word for name in names for word in WORD.findall(name))
    return untranslated(page, words_of_data() | {*map(str.casefold, words)})


def names_in(data):
    """Return what is somebody's in an output: its parameters, versions, commands."""
    runs = reading.read(data)
    said = [[dict(each.parameters) for each in run.readings] for run in runs]
    return [*strings(said), *(run.command for run in runs)]


def damaged(path):
    """Yield a saved output whole, cut in its middle, and with a number that is none."""
    data = path.read_bytes()
    yield data
    yield data[: len(data) // 2]
    yield re.sub(rb"\d+\.\d+", b"nan", data, count=3)


def sayings(data):
    """Return everything that is said for and against an output."""
    shown = preview(Member(0, "room.txt", data), Named(), Room(0), {})
    results = shown.get("results", ())
    troubles = [shown.get("trouble"), *(each["trouble"] for each in results)]
    marks = [mark for each in results for mark in each["run"].warnings]
    yield from (each.why for each in troubles if each)
    yield from (wording.said(mark.sentence) for mark in marks)


# What is read


def test_whatever_is_said_of_an_output_was_seen_by_a_translator():
    with marked_language(), translation.override("en"):
        texts = [data for path in outputs() for data in damaged(path)]
        said = {each for data in texts for each in sayings(data)}

    left = {each for each in said if WORD.search(unmarked(each))}
    assert len(said) > 100
    assert not left


def test_a_preview_with_a_warning_has_no_other_word(member):
    data = DOUBTED.read_bytes()

    with marked_language():
        page = send(member, upload(data))

    assert "⟦MPIRandomAccess_Errors is 117.⟧" in page.content.decode()
    assert left_in(page, "room.txt", *names_in(data)) == []


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
def test_a_refused_output_has_no_other_word(member, data, said):
    with marked_language():
        page = send(member, upload(data), **said)

    assert "upload-trouble" in page.content.decode()
    assert left_in(page, "room.txt iometre Iometer partdiff") == []


def test_an_archive_with_troubles_has_no_other_word(member, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", archives.MIB)
    inner = zipped(("inner.txt", b"hello")).read()
    room = zipped(("inner.zip", inner), ("disk.txt", HDPARM), ("none.txt", b""))

    with marked_language():
        pages = [send(member, each) for each in (room, *troubled_zips())]

    assert [page.status_code for page in pages] == [200, 422, 422, 413]
    names = [*names_in(HDPARM), "inner disk none room zip txt"]
    assert [left for page in pages for left in left_in(page, *names)] == []


def troubled_zips():
    """Return a damaged zip, an empty one, and one that unpacks to too much."""
    yield upload(b"PK\3\4 and nothing more", "room.zip")
    yield zipped()
    yield zipped(("disk.txt", b" " * 2 * archives.MIB))


def test_what_is_too_large_has_no_other_word(member, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000

    with marked_language():
        page = send(member, upload(b"x" * 1001))

    assert page.status_code == 413
    assert left_in(page, "room.txt") == []


# What became of it


def test_outcomes_have_no_other_word(member, place, settings):
    with marked_language():
        stored = send(member, upload(HDPARM), do="store", **place)
        again = send(member, upload(HDPARM), do="store", **place)
        nowhere = send(member, upload(HDPARM), do="store")
        odd = send(member, upload(HDPARM), do="store", **place, slot="a\u202eb")
        binary = send(member, upload(b"\0\1\2" * 90), do="store", **place)

    pages = [stored, again, nowhere, odd, binary]
    assert [page.status_code for page in pages] == [200, 200, 422, 422, 422]
    assert [left for page in pages for left in left_in(page, "room.txt")] == []


def test_a_system_that_makes_no_sense_is_refused_in_no_other_word(member, host):
    with marked_language():
        page = member.post(
            "/upload/systems/",
            {"host": host.slug, "hypervisor": "a\u202eb"},
            headers=SCRIPT,
        )

    assert page.status_code == 422
    assert left_in(page) == []


# What is kept of it


@pytest.fixture
def kept(member, place):
    """Store a doubted output and one that is refused; return the runs of both."""
    for path in (DOUBTED, COMMA):
        send(member, upload(path.read_bytes(), path.name), do="store", **place)
    processing.drain()
    checking.check_study(Study.objects.get())
    return Run.objects.order_by("pk")


def test_runs_with_marks_and_their_flags_have_no_other_word(member, kept):
    own = "/studies/alpha-lab/study/"
    addresses = [*(f"/runs/{run.pk}/" for run in kept), f"{own}runs/", f"{own}flags/"]

    with marked_language():
        pages = [member.get(each) for each in addresses]

    *runs, listed, flags = (page.content.decode() for page in pages)
    assert "⟦MPIRandomAccess_Errors is 117.⟧" in "".join(runs)
    assert "⟦MPIRandomAccess_Errors is 117.⟧" in flags
    assert "⟦The summary does not say Success=1: a test failed.⟧" in listed
    names = [DOUBTED.name, COMMA.name, *names_in(DOUBTED.read_bytes())]
    assert [left for page in pages for left in left_in(page, *names)] == []


def test_words_that_were_kept_in_english_alone_still_read(member, kept):
    Run.objects.update(warnings=[{"code": "x", "sentence": "It is in doubt."}])
    Run.objects.update(reason="It was refused.")

    page = member.get(f"/runs/{kept[0].pk}/").content.decode()

    assert "It is in doubt." in page
    assert "It was refused." in page


@pytest.fixture
def read_again(member, place):
    """Store an output and read it again as another number; return the page of it."""
    send(member, upload(HDPARM), do="store", **place)
    processing.drain()
    output = RunOutput.objects.get()
    output.text = output.text.replace("105.75", "106.75")
    output.save()
    member.post("/studies/alpha-lab/study/reread/")
    rereading.proceed()
    return f"/rereads/{Reread.objects.get().pk}/"


def test_what_reading_again_found_has_no_other_word(member, read_again):
    with marked_language():
        page = member.get(read_again)

    assert "⟦changed⟧" in page.content.decode()
    assert left_in(page) == []


# Numbers, as the language of the page writes them


def test_sizes_and_numbers_are_german_in_german_text(member, tmp_path):
    data = COMMA.read_bytes().ljust(1536)
    said = {"locale": "de_DE", "headers": {**SCRIPT, **GERMAN}}

    with translated("de", tmp_path):
        page = send(member, upload(data), **said).content.decode()

    assert "199,412706\N{NO-BREAK SPACE}s" in page
    assert "1,5\N{NO-BREAK SPACE}KiB" in page


def test_what_changed_is_german_in_german_text(member, read_again, tmp_path):
    with translated("de", tmp_path):
        page = member.get(read_again, headers=GERMAN).content.decode()

    assert "110,886912" in page  # in MB, not MiB
    assert "111,935488" in page
