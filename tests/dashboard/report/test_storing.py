"""Reports that are kept: never stale, never another's, and not too many."""

import os
from dataclasses import replace

import pytest

from dashboard.report import storing
from dashboard.report.storing import stored
from tests.dashboard.report.test_typesetting import PLAIN


@pytest.fixture
def made():
    return []


@pytest.fixture
def make(made):
    def count():
        made.append(1)
        return b"file %d" % len(made)

    return count


def test_the_same_report_is_made_once_whenever_it_is_asked_for(tmp_path, made, make):
    later = replace(PLAIN, colophon="Made tomorrow.")

    assert stored(tmp_path / "reports", PLAIN, "carol", make) == b"file 1"
    assert stored(tmp_path / "reports", later, "carol", make) == b"file 1"
    assert len(made) == 1


def test_whatever_it_says_makes_another_one(tmp_path, made, make):
    stored(tmp_path, PLAIN, "carol", make)

    assert stored(tmp_path, replace(PLAIN, byline="Grace"), "carol", make) == b"file 2"
    assert stored(tmp_path, PLAIN, "dave", make) == b"file 3"


def test_those_asked_for_least_are_forgotten(tmp_path, make, monkeypatch):
    monkeypatch.setattr(storing, "KEPT", 2)
    for at, name in enumerate("ab"):
        known = set(tmp_path.glob("*.pdf"))
        stored(tmp_path, replace(PLAIN, title=name), "", make)
        (new,) = set(tmp_path.glob("*.pdf")) - known
        os.utime(new, (at, at))
    stored(tmp_path, replace(PLAIN, title="a"), "", make)
    stored(tmp_path, replace(PLAIN, title="c"), "", make)

    assert len(list(tmp_path.iterdir())) == 2
    assert stored(tmp_path, replace(PLAIN, title="a"), "", make) == b"file 1"
    assert stored(tmp_path, replace(PLAIN, title="b"), "", make) == b"file 4"


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, make):
    (tmp_path / "reports").write_text("a file, not a folder")

    assert stored(tmp_path / "reports", PLAIN, "", make) == b"file 1"
