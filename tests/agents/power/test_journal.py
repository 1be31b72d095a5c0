"""The piece of a log that is being written, and what a killed recorder leaves."""

import json
import uuid
from pathlib import Path

import pytest

from agents.errors import SpoolFullError
from agents.power.meters import Reading, Source
from agents.power.recording import Journal, document_of, log_of, save_abandoned
from agents.spool import POWER, Spool
from agents.timing.asking import Stamp

STAMP = Stamp("clock", 1, 2, 3, 4, 5, 8)


@pytest.fixture
def log():
    source = Source()
    source.name, source.kind, source.gain_error = "meter 1", "watts-up", 0.015
    source.channels = source.total = ["wall"]
    return log_of(source, "alpha")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "power"


def written(folder, log, number=1):
    journal = Journal(str(folder), log, number)
    journal.add_stamp(STAMP)
    journal.add(Reading(1_000_000, [97.2]))
    journal.add(Reading(2_000_000, [97.4]))
    return journal


def left(folder, log):
    """Return what stands in a piece whose recorder was killed."""
    journal = written(folder, log)
    journal.close()
    return Path(journal.path).read_bytes()


def only(spool):
    (key,) = spool.waiting()
    return key, json.loads(spool.read(key))


def test_a_piece_goes_into_the_spool_and_is_forgotten_here(folder, spool, log):
    journal = written(folder, log)
    journal.note("1 damaged packets were left out.")

    journal.save(spool)

    key, document = only(spool)
    assert key == document["key"] + POWER
    assert document["samples"] == [[1_000_000, 97.2], [2_000_000, 97.4]]
    assert document["stamps"] == [STAMP.with_steps()]
    assert document["meter"] == {
        "name": "meter 1",
        "kind": "watts-up",
        "gain_error": 0.015,
    }
    assert document["facts"] == {"notes": ["1 damaged packets were left out."]}
    assert list(folder.iterdir()) == []


def test_the_same_piece_has_the_same_key_and_content(folder, log):
    content = left(folder, log)

    assert document_of(content) == document_of(content)
    assert uuid.UUID(document_of(content)["key"]).version == 5


def test_a_piece_without_a_sample_is_none(folder, spool, log):
    journal = Journal(str(folder), log)
    journal.add_stamp(STAMP)

    journal.save(spool)

    assert spool.waiting() == []


def test_a_last_line_that_was_cut_off_is_left_out(folder, log):
    content = left(folder, log)

    assert len(document_of(content[:-4])["samples"]) == 1


def test_what_a_killed_recorder_left_is_saved_once(folder, spool, log):
    left(folder, log)

    assert save_abandoned(str(folder), spool) == 1
    assert save_abandoned(str(folder), spool) == 0
    assert len(only(spool)[1]["samples"]) == 2


def test_a_piece_in_use_is_left_alone(folder, spool, log):
    journal = written(folder, log)

    assert save_abandoned(str(folder), spool) == 0

    journal.add(Reading(3_000_000, [98.0]))
    journal.save(spool)
    assert len(only(spool)[1]["samples"]) == 3


def test_when_the_spool_is_full_the_piece_stays(folder, tmp_path, log):
    full = Spool(str(tmp_path / "full"), most_bytes=10)

    with pytest.raises(SpoolFullError):
        written(folder, log).save(full)

    assert len(list(folder.iterdir())) == 1
