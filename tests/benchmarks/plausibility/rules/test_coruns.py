from datetime import UTC, datetime, timedelta

import pytest

from tests.benchmarks.plausibility.cast import findings, run

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def slot(delay_s, duration_s, **facts):
    started = NOON + timedelta(seconds=delay_s)
    facts = {"corun": "three", **facts}
    return run(started_at=started, duration_s=duration_s, **facts)


def test_slots_that_share_six_tenths_of_the_time_are_flagged():
    [finding] = findings("corun-overlap", slot(0, 100), slot(40, 100), slot(20, 100))

    assert finding.evidence["overlap"] == pytest.approx(0.6)
    assert len(finding.subjects) == 3


def test_slots_from_one_barrier_are_silent():
    assert findings("corun-overlap", slot(0, 100), slot(1, 102), slot(2, 99)) == []


def test_slots_one_after_the_other_share_nothing():
    [finding] = findings("corun-overlap", slot(0, 100), slot(200, 100))

    assert finding.evidence["overlap"] == 0


def test_a_meter_runs_longer_on_purpose():
    assert findings("corun-overlap", slot(0, 100), slot(0, 400, tool="watts-up")) == []


def test_runs_of_other_coruns_or_unknown_times_are_not_compared():
    assert findings("corun-overlap", slot(0, 100), slot(90, 100, corun="two")) == []
    unknown = run(corun="three")
    assert findings("corun-overlap", slot(0, 100), unknown) == []
