"""The recorder: what it does when a counter is lost and the spool has no room."""

import json
from contextlib import closing, nullcontext

import pytest

from agents.console import Console
from agents.errors import SpoolFullError
from agents.power.meters import CounterLostError, Reading, Source
from agents.power.recording import Companion, Recorder, save_abandoned
from agents.processes import Stop
from agents.spool import MOST_BYTES, Spool

LOST = CounterLostError("the counter may have wrapped: a new log begins.")


class Told(Source):
    """A counter that reads what it is told, then stops its recorder."""

    kind, name, measures = "rapl", "rapl at alpha", "energy"
    channels = total = ["package-0"]
    every_s = 0.001

    def __init__(self, *answers):
        self.answers, self.stop = list(answers), Stop()

    def read(self):
        answer = self.answers.pop(0)
        if not self.answers:
            self.stop.set()
        if isinstance(answer, Exception):
            raise answer
        return Reading(*answer)


@pytest.fixture
def record(tmp_path, time_server):
    def run(spool, *answers):
        source = Told(*answers)
        companion = Companion(time_server, None, lambda _: None)
        folder = str(tmp_path / "power")
        recorder = Recorder(source, "alpha", folder, spool, companion, Console())
        companion.start()
        with closing(source.stop):
            recorder.go_on_until(source.stop)
            recorder.finish()

    return run


def documents(spool):
    return [json.loads(spool.read(key)) for key in spool.waiting()]


def samples(spool):
    return sorted(document["samples"] for document in documents(spool))


@pytest.mark.parametrize("most_bytes", [0, MOST_BYTES])
def test_pieces_of_a_log_count_on(record, tmp_path, monkeypatch, most_bytes):
    monkeypatch.setattr("agents.power.recording.MOST_SAMPLES", 2)
    spool = Spool(str(tmp_path / "spool"), most_bytes)

    with nullcontext() if most_bytes else pytest.raises(SpoolFullError):
        record(spool, (1, [0.0]), (2, [0.5]), (3, [1.0]))

    roomy = Spool(str(tmp_path / "spool"))
    save_abandoned(str(tmp_path / "power"), roomy)
    pieces = {each["number"]: len(each["samples"]) for each in documents(roomy)}
    assert pieces == {1: 2, 2: 1}
    assert len({each["log"] for each in documents(roomy)}) == 1


def test_a_lost_counter_begins_a_new_log(record, spool):
    record(spool, (1, [0.0]), LOST, (3, [0.0]))

    assert samples(spool) == [[[1, 0.0]], [[3, 0.0]]]


def test_a_counter_lost_while_the_spool_is_full_loses_no_reading(
    record, tmp_path, capsys
):
    full = Spool(str(tmp_path / "spool"), most_bytes=0)

    with pytest.raises(SpoolFullError, match="The spool is full"):
        record(full, (1, [0.0]), LOST, (3, [0.0]))

    assert "The spool is full" in capsys.readouterr().err
    roomy = Spool(str(tmp_path / "spool"))
    assert save_abandoned(str(tmp_path / "power"), roomy) == 2
    assert samples(roomy) == [[[1, 0.0]], [[3, 0.0]]]
