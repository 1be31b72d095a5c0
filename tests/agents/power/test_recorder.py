"""The recorder with a wrapped counter and a full spool."""

import json
from contextlib import closing, nullcontext

import pytest

from agents.console import Console
from agents.errors import SpoolFullError
from agents.power.meters import CounterWrappedError, MeterSource, Reading
from agents.power.recording import Recorder, StampThread, recover_chunks
from agents.processes import StopFlag
from agents.spool import MAX_BYTES, Spool

LOST = CounterWrappedError("the counter may have wrapped: a new log begins.")


class FakeCounter(MeterSource):
    """A counter that returns given values, then stops its recorder."""

    kind, name, measures = "rapl", "rapl at alpha", "energy"
    channels = total = ["package-0"]
    interval_s = 0.001

    def __init__(self, *answers):
        self.answers, self.stop = list(answers), StopFlag()

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
        source = FakeCounter(*answers)
        stamp_thread = StampThread(time_server, None, lambda _: None)
        folder = str(tmp_path / "power")
        recorder = Recorder(source, "alpha", folder, spool, stamp_thread, Console())
        stamp_thread.start()
        with closing(source.stop):
            recorder.run_until(source.stop)
            recorder.finish()

    return run


def documents(spool):
    return [json.loads(spool.read(key)) for key in spool.waiting()]


def samples(spool):
    return sorted(document["samples"] for document in documents(spool))


@pytest.mark.parametrize("most_bytes", [0, MAX_BYTES])
def test_chunks_are_numbered(record, tmp_path, monkeypatch, most_bytes):
    monkeypatch.setattr("agents.power.recording.MAX_SAMPLES", 2)
    spool = Spool(str(tmp_path / "spool"), most_bytes)

    with nullcontext() if most_bytes else pytest.raises(SpoolFullError):
        record(spool, (1, [0.0]), (2, [0.5]), (3, [1.0]))

    roomy = Spool(str(tmp_path / "spool"))
    recover_chunks(str(tmp_path / "power"), roomy)
    chunks = {
        document["number"]: len(document["samples"]) for document in documents(roomy)
    }
    assert chunks == {1: 2, 2: 1}
    assert len({document["log"] for document in documents(roomy)}) == 1


def test_wrapped_counter_starts_a_new_log(record, spool):
    record(spool, (1, [0.0]), LOST, (3, [0.0]))

    assert samples(spool) == [[[1, 0.0]], [[3, 0.0]]]


def test_wrapped_counter_with_full_spool_loses_no_reading(record, tmp_path, capsys):
    full = Spool(str(tmp_path / "spool"), most_bytes=0)

    with pytest.raises(SpoolFullError, match="The spool is full"):
        record(full, (1, [0.0]), LOST, (3, [0.0]))

    assert "The spool is full" in capsys.readouterr().err
    roomy = Spool(str(tmp_path / "spool"))
    assert recover_chunks(str(tmp_path / "power"), roomy) == 2
    assert samples(roomy) == [[[1, 0.0]], [[3, 0.0]]]
