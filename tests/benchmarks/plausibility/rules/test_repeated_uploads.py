from datetime import UTC, datetime, timedelta

from tests.benchmarks.plausibility.small_studies import cell, findings, run, sample

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
VALUES = [2711.43, 2698.07, 2735.92, 2722.51, 2689.66]


def uploads(values, *, starts=None, **facts):
    """Return one run per value, each with its own key."""
    return [
        run(
            "ramspeed",
            (sample("bandwidth", value, "MB/s", cell="read"),),
            started_at=starts and NOON + timedelta(minutes=starts[index]),
            **{"upload": f"key {index}", **facts},
        )
        for index, value in enumerate(values)
    ]


def again(runs, **changes):
    """Return the same runs under other keys."""
    return [
        run(
            original.tool,
            original.samples,
            **{
                "started_at": original.started_at,
                "upload": f"again {index}",
                "system": original.system,
                **changes,
            },
        )
        for index, original in enumerate(runs)
    ]


def pairs(*runs):
    flagged = findings("uploaded-twice", cell(*VALUES, id="read"), *runs)
    return [
        pair
        for finding in flagged
        for pair in zip(
            finding.evidence["again"], finding.evidence["first"], strict=True
        )
    ]


def said_of(runs, copies):
    return [(two.id, one.id) for one, two in zip(runs, copies, strict=True)]


def test_runs_with_the_same_starts_were_uploaded_twice():
    runs = uploads(VALUES, starts=range(5))
    copies = again(runs[1:3])

    assert pairs(*runs, *copies) == said_of(runs[1:3], copies)


def test_runs_without_starts_are_identified_by_all_readings():
    runs = uploads(VALUES)
    copies = again(runs)

    assert pairs(*runs, *copies) == said_of(runs, copies)


def test_runs_uploaded_three_times_without_starts_count_once():
    runs = uploads(VALUES)
    copies = [*again(runs), *again(runs, upload="a third time")]

    assert sorted(pairs(*runs, *copies)) == sorted(said_of([*runs, *runs], copies))


def test_three_values_of_a_coarse_clock_are_not_a_second_upload():
    steps = [2711.4, 2698.0, 2735.9]
    read = [steps[index] for index in (0, 1, 0, 2, 2, 1, 0, 1, 2)]

    assert pairs(*uploads(read)) == []


def test_missing_starts_of_the_second_upload_do_not_hide_it():
    runs = uploads(VALUES, starts=range(5))
    copies = again(runs, started_at=None)

    assert pairs(*runs, *copies) == said_of(runs, copies)


def test_statistics_of_cells_without_repeats_change_nothing():
    runs = uploads(VALUES)
    members = [*runs, *again(runs)]

    twice = findings("uploaded-twice", cell(*VALUES, *VALUES, id="read"), *members)
    once = findings("uploaded-twice", cell(*VALUES, id="read"), *members)

    assert [finding.fingerprint for finding in twice] == [
        finding.fingerprint for finding in once
    ]


def test_other_starts_are_other_runs():
    runs = uploads(VALUES, starts=range(5))

    assert pairs(*runs, *again(runs, started_at=NOON + timedelta(days=1))) == []


def test_another_system_is_another_measurement():
    runs = uploads(VALUES, starts=range(5))

    assert pairs(*runs, *again(runs, system="xen")) == []


def test_one_output_with_a_result_twice_contains_two_runs():
    runs = uploads(VALUES[:1] * 2, starts=[0, 0], upload="one")

    assert pairs(*runs) == []


def test_a_single_equal_reading_is_chance():
    runs = uploads(VALUES)

    assert pairs(*runs, *again(runs[:1])) == []


def test_a_series_with_one_start_may_repeat_a_coarse_reading():
    runs = uploads([0.02, 0.02, 0.02, 0.03, 0.02], starts=[0] * 5)

    assert pairs(*runs) == []


def test_coarse_readings_repeat_themselves():
    assert pairs(*uploads([473.0, 509.0, 509.0, 473.0, 509.0])) == []


def test_runs_without_valid_readings_raise_no_error():
    values = [0.0, -1.0, 1e308, 1.0, 5e-324]
    runs = uploads([*values, *values])

    assert len(pairs(run("fio"), *runs)) in {0, 5}
