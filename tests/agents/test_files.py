"""Files: whole or not there, on the disk before anybody relies on them."""

import os
import stat

import pytest

from agents import files
from agents.files import names_in, text_of, whole_number_of, write_durably


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"old")
    return path


def test_it_is_flushed_renamed_and_the_folder_flushed_in_this_order(path, monkeypatch):
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
def test_a_disk_that_fails_leaves_the_old_one_whole(path, monkeypatch, fault):
    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, fault, fail)
    with pytest.raises(OSError, match="Input/output"):
        write_durably(str(path), b"new")

    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["run.json"]


def test_nobody_else_can_read_it_not_even_for_a_moment(tmp_path, monkeypatch):
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


def test_what_is_missing_is_none(tmp_path):
    (tmp_path / "text").write_text("abc\n")

    assert text_of(str(tmp_path / "text")) == "abc"
    assert whole_number_of(str(tmp_path / "text")) is None
    assert text_of(str(tmp_path)) is None
    assert names_in(str(tmp_path / "missing")) == []
