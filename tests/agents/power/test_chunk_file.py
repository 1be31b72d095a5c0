"""The chunk of a log that is being written, and the chunk of a killed recorder."""

import json
import uuid
from pathlib import Path

import pytest

from agents.errors import SpoolFullError
from agents.power.meters import MeterSource, Reading
from agents.power.recording import (
    ChunkFile,
    chunk_document,
    log_properties,
    recover_chunks,
)
from agents.spool import POWER_SUFFIX, Spool
from agents.timing.time_client import ClockStamp

STAMP = ClockStamp("clock", 1, 2, 3, 4, 5, 8)


@pytest.fixture
def log():
    source = MeterSource()
    source.name, source.kind, source.gain_error = "meter 1", "watts-up", 0.015
    source.channels = source.total = ["wall"]
    return log_properties(source, "alpha")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "power"


def written(folder, log, number=1):
    journal = ChunkFile(str(folder), log, number)
    journal.add_stamp(STAMP)
    journal.add(Reading(1_000_000, [97.2]))
    journal.add(Reading(2_000_000, [97.4]))
    return journal


def left(folder, log):
    """Return the contents of a chunk whose recorder was killed."""
    journal = written(folder, log)
    journal.close()
    return Path(journal.path).read_bytes()


def only(spool):
    (key,) = spool.waiting()
    return key, json.loads(spool.read(key))


def test_chunk_is_moved_to_the_spool(folder, spool, log):
    journal = written(folder, log)
    journal.note("1 damaged packets were skipped.")

    journal.save(spool)

    key, document = only(spool)
    assert key == document["key"] + POWER_SUFFIX
    assert document["samples"] == [[1_000_000, 97.2], [2_000_000, 97.4]]
    assert document["stamps"] == [STAMP.with_resolution()]
    assert document["meter"] == {
        "name": "meter 1",
        "kind": "watts-up",
        "gain_error": 0.015,
    }
    assert document["facts"] == {"notes": ["1 damaged packets were skipped."]}
    assert list(folder.iterdir()) == []


def test_same_chunk_has_same_key_and_content(folder, log):
    content = left(folder, log)

    assert chunk_document(content) == chunk_document(content)
    assert uuid.UUID(chunk_document(content)["key"]).version == 5


def test_chunk_without_samples_has_no_document(folder, spool, log):
    journal = ChunkFile(str(folder), log)
    journal.add_stamp(STAMP)

    journal.save(spool)

    assert spool.waiting() == []


def test_truncated_last_line_is_skipped(folder, log):
    content = left(folder, log)

    assert len(chunk_document(content[:-4])["samples"]) == 1


def test_chunk_of_killed_recorder_is_saved_once(folder, spool, log):
    left(folder, log)

    assert recover_chunks(str(folder), spool) == 1
    assert recover_chunks(str(folder), spool) == 0
    assert len(only(spool)[1]["samples"]) == 2


def test_chunk_in_use_is_skipped(folder, spool, log):
    journal = written(folder, log)

    assert recover_chunks(str(folder), spool) == 0

    journal.add(Reading(3_000_000, [98.0]))
    journal.save(spool)
    assert len(only(spool)[1]["samples"]) == 3


def test_chunk_stays_while_the_spool_is_full(folder, tmp_path, log):
    full = Spool(str(tmp_path / "full"), most_bytes=10)

    with pytest.raises(SpoolFullError):
        written(folder, log).save(full)

    assert len(list(folder.iterdir())) == 1
