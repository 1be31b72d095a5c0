from datetime import UTC, datetime, timedelta

import pytest

from tests.benchmarks.plausibility.small_studies import findings, run

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def slot(delay_s, duration_s, **facts):
    started = NOON + timedelta(seconds=delay_s)
    facts = {"corun": "three", **facts}
    return run(started_at=started, duration_s=duration_s, **facts)


def test_slots_that_overlap_for_six_tenths_are_flagged():
    [finding] = findings("corun-overlap", slot(0, 100), slot(40, 100), slot(20, 100))

    assert finding.evidence["overlap"] == pytest.approx(0.6)
    assert len(finding.subjects) == 3


def test_slots_started_on_a_barrier_are_not_flagged():
    assert findings("corun-overlap", slot(0, 100), slot(1, 102), slot(2, 99)) == []


def test_slots_in_sequence_do_not_overlap():
    [finding] = findings("corun-overlap", slot(0, 100), slot(200, 100))

    assert finding.evidence["overlap"] == 0


def test_a_meter_may_run_longer():
    assert findings("corun-overlap", slot(0, 100), slot(0, 400, tool="watts-up")) == []


def test_other_coruns_and_unknown_times_are_not_compared():
    assert findings("corun-overlap", slot(0, 100), slot(90, 100, corun="two")) == []
    unknown = run(corun="three")
    assert findings("corun-overlap", slot(0, 100), unknown) == []
