"""Files are complete or missing, and on the disk before they are used."""

import os
import stat

import pytest

from agents import files
from agents.files import list_names, read_text_file, read_whole_number, write_durably


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"old")
    return path


def test_file_is_flushed_renamed_and_folder_flushed_in_order(path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        calls.append("folder" if is_folder else "file")
        sync(descriptor)

    def note_replace(*names):
        calls.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_durably(str(path), b"new")

    assert calls == ["file", "rename", "folder"]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("fault", ["fsync", "replace"])
def test_failing_disk_keeps_the_old_file(path, monkeypatch, fault):
    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, fault, fail)
    with pytest.raises(OSError, match="Input/output"):
        write_durably(str(path), b"new")

    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["run.json"]


def test_file_is_never_readable_by_others(tmp_path, monkeypatch):
    seen = []
    opened = os.open

    def note(path, flags, mode=0o777):
        descriptor = opened(path, flags, mode)
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(files.os, "open", note)
    before = os.umask(0)
    try:
        write_durably(str(tmp_path / "token"), b"secret", 0o600)
    finally:
        os.umask(before)

    assert seen[0] == 0o600


def test_missing_file_is_none(tmp_path):
    (tmp_path / "text").write_text("abc\n")

    assert read_text_file(str(tmp_path / "text")) == "abc"
    assert read_whole_number(str(tmp_path / "text")) is None
    assert read_text_file(str(tmp_path)) is None
    assert list_names(str(tmp_path / "missing")) == []
