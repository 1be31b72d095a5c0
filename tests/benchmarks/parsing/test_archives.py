"""Files that are read from uploads and archives, and those that are rejected."""

import gzip
import io
import random
import re
import tarfile
import zipfile

import pytest

from benchmarks.errors import BenchmarksError
from benchmarks.parsing import archives
from benchmarks.parsing.archives import read_members

LIMIT = 8 * archives.MIB
TEXTS = {"kvm/one.txt": b"first", "two.txt": b"second"}


def packed(files, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def taken(data, name="room.zip", limit=LIMIT):
    return list(read_members(name, io.BytesIO(data), limit))


def sentence(data, **kwargs):
    """Return why the only entry was rejected, and with which status."""
    (member,) = taken(data, **kwargs)
    assert member.data == b""
    return str(member.refusal), member.refusal.status


def test_a_plain_file_is_returned_under_any_name():
    (member,) = taken(b"PK is no zip by its first letters", name="x.zip")

    assert (member.index, member.name, member.refusal) == (0, "x.zip", None)
    assert member.data == b"PK is no zip by its first letters"


def test_a_zip_returns_its_files_in_order():
    members = taken(packed(TEXTS), name="not-called-zip")

    assert [(member.index, member.name, member.data) for member in members] == [
        (0, "not-called-zip/kvm/one.txt", b"first"),
        (1, "not-called-zip/two.txt", b"second"),
    ]


@pytest.mark.parametrize(
    "first", ["[Content_Types].xml", "mimetype"], ids=["Word", "LibreOffice"]
)
def test_an_office_document_is_not_an_archive_of_results(first):
    document = packed({first: b"x", "content.xml": b"<x/>"})

    assert "office document" in sentence(document, name="table.xlsx")[0]


def test_files_added_by_operating_systems_are_omitted():
    hidden = ["__MACOSX/._two.txt", ".DS_Store", "kvm/.hidden", "Thumbs.db", "empty/"]

    members = taken(packed({**dict.fromkeys(hidden, b"x"), **TEXTS}))

    assert [member.data for member in members] == [b"first", b"second"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "room.zip/../../etc/passwd"),
        ("/etc/passwd", "room.zip//etc/passwd"),
        ("a\u202etxt.exe", "room.zip/a\\u202etxt.exe"),
        ("line\nbreak", "room.zip/line\\nbreak"),
    ],
)
def test_a_name_is_only_displayed(name, shown):
    (member,) = taken(packed({name: b"text"}))

    assert (member.name, member.data) == (shown, b"text")


def test_a_long_name_is_shortened():
    (member,) = taken(packed({"n" * 5000: b"text"}))

    assert len(member.name) == archives.MAX_SHOWN_NAME


def test_a_file_may_be_as_large_as_the_limit():
    (member,) = taken(b"x" * 1000, limit=1000)

    assert len(member.data) == 1000
    text, status = sentence(b"x" * 1001, limit=1000)
    assert "Upload only the part" in text
    assert status == 413


def test_a_large_file_in_a_zip_does_not_affect_the_others():
    large, small = taken(packed({"large": b"x" * 1001, "small": b"y"}), limit=1000)

    assert large.refusal.status == 413
    assert small.data == b"y"


def test_too_many_files_are_rejected():
    just = dict.fromkeys(map(str, range(archives.MAX_MEMBERS)), b"")

    assert len(taken(packed(just))) == archives.MAX_MEMBERS
    text, status = sentence(packed({**just, "one more": b""}))
    assert re.findall(r"\d+", text) == ["201", "200"]
    assert status == 413


def test_too_many_entries_are_rejected_before_opening(monkeypatch):
    monkeypatch.setattr(archives, "ZipFile", lambda file: pytest.fail("was opened"))
    crowd = packed({f"folder{n}/": b"" for n in range(archives.MAX_ENTRIES + 1)})

    assert sentence(crowd)[1] == 413


def test_signatures_are_counted_across_chunks(monkeypatch):
    monkeypatch.setattr(archives, "_CHUNK", 5)
    monkeypatch.setattr(archives, "MAX_ENTRIES", 1)

    assert "contains 2 files" in sentence(packed(TEXTS))[0]


def test_a_bomb_is_rejected_by_its_unpacked_size():
    zeros = b"\0" * (5 * archives.MIB)

    text, status = sentence(packed({"zeros": zeros}))
    assert "more than 100 times its size" in text
    assert status == 413
    text, status = sentence(packed({str(n): zeros for n in range(13)}))
    assert re.findall(r"\d+", text) == ["65", "64"]
    assert status == 413


def test_a_wrong_size_yields_no_more_bytes_than_claimed():
    data = bytearray(packed({"lie": b"x" * 5000}, zipfile.ZIP_STORED))
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (10).to_bytes(4, "little")

    assert "damaged" in sentence(bytes(data))[0]


def test_an_encrypted_file_is_rejected():
    data = bytearray(packed({"secret": b"text"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1

    assert "without a password" in sentence(bytes(data))[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_only_standard_zips_are_opened(method):
    assert "Create a standard zip file" in sentence(packed({"x": b"text"}, method))[0]


def test_a_zip_within_a_zip_is_not_opened():
    assert "inside a zip file" in sentence(packed({"inner.zip": packed(TEXTS)}))[0]


def test_an_empty_zip_is_reported():
    text, status = sentence(packed({}))
    assert "no file" in text
    assert status == 422


def test_any_damage_is_a_rejection():
    archive, random_ = packed(TEXTS), random.Random(1)
    for _ in range(3000):
        data = bytearray(archive)
        for _ in range(random_.randint(1, 4)):
            data[random_.randrange(4, len(data))] = random_.randrange(256)
        del data[random_.randrange(5, len(data) * 3) :]
        for member in taken(bytes(data)):
            assert member.refusal is None or isinstance(member.refusal, BenchmarksError)


def tarred(files, mode="w:gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            info = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(name)
            text = b"" if info is data else data
            info.size, info.mtime = len(text), 1_795_211_625
            archive.addfile(info, io.BytesIO(text))
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_returns_its_files_with_their_dates(mode):
    members = taken(tarred({"./kvm/._one": b"x", **TEXTS}, mode), name="r.tgz")

    assert [(member.name, member.data) for member in members] == [
        ("r.tgz/kvm/one.txt", b"first"),
        ("r.tgz/two.txt", b"second"),
    ]
    assert members[0].modified.isoformat() == "2026-11-20T21:53:45+00:00"


def test_only_selected_files_of_a_tar_are_unpacked():
    file = io.BytesIO(tarred(TEXTS))

    (member,) = read_members("r.tgz", file, LIMIT, lambda index: index == 1)
    assert (member.index, member.data) == (1, b"second")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_link_in_a_tar_is_never_followed(kind):
    link = tarfile.TarInfo("passwd")
    link.type, link.linkname = kind, "/etc/passwd"

    assert "a link or a device" in sentence(tarred({"passwd": link}))[0]


def test_a_tar_that_unpacks_to_too_much_is_rejected(monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", archives.MIB)
    monkeypatch.setattr(archives, "_TAR_MARGIN", archives.MIB)

    text, status = sentence(tarred({"zeros": b"\0" * (3 * archives.MIB)}))
    assert "unpacks to more than 1 MiB" in text
    assert status == 413


def test_a_tar_bomb_is_rejected_by_its_ratio():
    zeros = b"\0" * (30 * archives.MIB)

    assert sentence(tarred({"zeros": zeros}))[1] == 413


def test_a_header_that_claims_too_much_is_not_read():
    claim = tarfile.TarInfo("pax")
    claim.type = tarfile.XHDTYPE
    claim.size = 8 * 1024**3
    data = claim.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024

    assert sentence(gzip.compress(data))[1] == 413


def test_too_many_files_in_a_tar_are_rejected():
    crowd = {str(n): b"" for n in range(archives.MAX_MEMBERS + 1)}

    assert re.findall(r"\d+", sentence(tarred(crowd))[0]) == ["201", "200"]


def test_gzip_without_tar_is_reported():
    assert "tar file cannot be opened" in sentence(gzip.compress(b"text"))[0]
    assert "no file" in sentence(tarred({}))[0]
    inner = tarred({"inner.tgz": tarred(TEXTS)})
    assert "inside an archive" in sentence(inner)[0]


def test_any_damage_of_a_tar_is_a_rejection():
    archive, random_ = tarred(TEXTS, "w"), random.Random(2)
    for turn in range(600):
        data = bytearray(archive[:3072])
        for _ in range(random_.randint(1, 4)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        damaged = bytes(data)
        for member in taken(gzip.compress(damaged) if turn % 2 else damaged):
            refusal = member.refusal
            assert refusal is None or isinstance(refusal, BenchmarksError)
