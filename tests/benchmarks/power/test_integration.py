"""Power over the windows of runs, whichever of the two arrives first."""

from datetime import timedelta

import pytest

from benchmarks.errors import ConflictError, UnknownNameError
from benchmarks.models import (
    Flag,
    Host,
    PowerChunk,
    Run,
    RunEnergy,
    Study,
)
from benchmarks.power import logs
from benchmarks.power.logged_energy import run_energies
from benchmarks.power.logs import integrate_due, keep_power
from benchmarks.sentences import Sentence
from benchmarks.studies.checking import check_study
from benchmarks.studies.flags import decide_flag
from benchmarks.unattended.queue import put_energies
from benchmarks.uploads import processing
from tests import jobs
from tests.power_logs import BEGIN_S, WALL, WRONG_S, clock_of, piece, power, stamp

RAPL = {"name": "RAPL", "kind": "rapl"}


def integrate():
    return integrate_due(timedelta(0))


@pytest.fixture
def upload(agent, host):
    """Take pieces of a log in and integrate."""

    def take(*documents):
        for document in documents:
            keep_power(agent=agent, document=document)
        integrate()

    return take


@pytest.fixture
def work(submit, run_document):
    """Submit a run that a time server timed, from one second to another."""

    def run(begin=100, end=130, **changes):
        facts = clock_of(begin, end)
        return submit(run_document(facts=facts, **changes))[0].run_id

    return run


def figures(row):
    return row.duration_s, row.covered_s, round(row.mean_w * row.duration_s, 6)


def test_the_energy_of_a_run_is_that_of_its_window_whatever_the_clocks_say(
    upload, work
):
    upload(piece(power(range(200))))
    work()

    integrate()

    row = RunEnergy.objects.get()
    # 31 readings of 120 W over 30 s, by a clock that is an hour wrong.
    assert figures(row) == (30.0, 30.0, 3600.0)
    assert (row.samples, row.interval_s, row.together) == (31, 1.0, 1)
    assert row.is_external
    assert row.idle_w == 80.0


CSV = {"name": "bench supply", "kind": "csv"}
OTHER_LOG = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"


def log_file(samples, begin_s=0, **changes):
    """Return a file's only piece, by a wall clock, as `power csv` sends it."""
    made = piece(power(range(200)), meter=CSV, axis="wall", **changes)
    wall_s = BEGIN_S + WRONG_S + begin_s
    made["samples"] = [[round(1e6 * (wall_s + s)), watts] for s, watts in samples]
    return made


def test_a_file_that_is_sent_again_is_the_same_piece(agent, host):
    sent = log_file(power(range(200)))
    again = {**sent, "stamps": [stamp(900)]}

    keep_power(agent=agent, document=sent)

    assert keep_power(agent=agent, document=again).repeated
    with pytest.raises(ConflictError):
        keep_power(agent=agent, document={**again, "samples": sent["samples"][:9]})


def test_a_file_with_another_start_takes_the_place_of_what_it_said(upload, work):
    work()
    upload(log_file(power(range(200)), begin_s=7))
    shifted = RunEnergy.objects.get().mean_w

    upload(log_file(power(range(200))))

    row = RunEnergy.objects.get()
    assert shifted < 120
    assert figures(row) == (30.0, 30.0, 3600.0)
    assert row.samples == 31


def test_where_a_file_was_moved_away_from_nothing_was_measured(upload, work):
    work()
    upload(log_file(power(range(200))))
    assert RunEnergy.objects.count() == 1

    upload(log_file(power(range(200)), begin_s=7200))

    assert not RunEnergy.objects.exclude(mean_w=None).exists()


def test_a_mended_file_counts_where_it_overlaps(upload, work):
    work()
    upload(log_file(power(range(200), work=12.0)))

    upload(log_file(power(range(90, 140)), log=OTHER_LOG))

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_a_log_that_arrives_after_the_runs_is_integrated_too(upload, work):
    work()

    upload(piece(power(range(200))))

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_doing_it_twice_changes_nothing(upload, work):
    upload(piece(power(range(200))))
    work()
    integrate()
    before = list(RunEnergy.objects.values())

    processing.process_runs(list(Run.objects.all()))
    integrate()

    assert list(RunEnergy.objects.values()) == before
    assert integrate() == 0
    assert not jobs.waiting("energy").exists()


def test_machines_that_fail_stop_no_other_and_are_known(
    upload, work, lab, monkeypatch, caplog
):
    others = [Host.objects.create(lab=lab, slug=f"other-{n}") for n in range(3)]
    put_energies((host.pk, None, None) for host in others)
    store = logs._store_windows

    def fail_for_others(host_id):
        if host_id in {host.pk for host in others}:
            raise KeyError("no such meter")
        return store(host_id)

    monkeypatch.setattr(logs, "_store_windows", fail_for_others)
    monkeypatch.setattr(logs, "HOSTS_A_CALL", 3)
    assert integrate() == 0
    assert jobs.failed(failures=1).count() == 3

    work()
    upload(piece(power(range(200))))

    # Those that wait do not take the place of others.
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)
    assert jobs.waiting("energy").count() == 3


def test_the_same_piece_twice_is_one(agent, upload, host):
    document = piece(power(range(200)))

    first, second = (keep_power(agent=agent, document=document) for _ in range(2))

    assert (first.repeated, second.repeated) == (False, True)
    assert PowerChunk.objects.count() == 1
    with pytest.raises(ConflictError):
        keep_power(agent=agent, document={**document, "number": 2})


def test_pieces_may_arrive_in_any_order(upload, work):
    readings = power(range(200))
    work()

    upload(piece(readings[115:], number=2))
    late = RunEnergy.objects.get()
    assert late.covered_s == 15.0

    upload(piece(readings[:115], number=1))
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_a_piece_without_a_stamp_waits_for_one(upload, work):
    readings = power(range(200))
    work()

    upload(piece(readings[:150], number=1, stamps=[]))
    assert not RunEnergy.objects.exists()
    assert PowerChunk.objects.get().first_at is None

    upload(piece(readings[150:], number=2))
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_a_meter_that_saw_a_part_says_how_much(upload, work):
    work()

    upload(piece(power(range(110, 200))))

    row = RunEnergy.objects.get()
    assert (row.duration_s, row.covered_s) == (30.0, 20.0)


def test_a_meter_that_saw_nothing_of_the_work_has_no_energy(upload, work):
    work()
    readings = [row for row in power(range(200)) if not 95 <= row[0] <= 135]

    upload(piece(readings))

    row = RunEnergy.objects.get()
    assert row.mean_w is None
    assert row.covered_s == 0
    assert "measured nothing within" in row.reason
    assert isinstance(row.reason, Sentence)


def test_what_a_figure_lacks_is_a_sentence_that_can_be_translated(upload, work):
    run = Run.objects.get(pk=work())
    readings = [row for row in power(range(200)) if not 110 < row[0] < 120]

    upload(piece(readings))

    (metered,) = run_energies(run.study)
    assert isinstance(metered.sentence, Sentence)
    (missing,) = metered.sentence.parameters.values()
    assert missing.parameters == {"missing": "10", "all": "30", "share": "33"}


def test_a_meter_of_another_time_has_no_row(upload, work):
    work(1000, 1030)

    upload(piece(power(range(200))))

    assert not RunEnergy.objects.exists()


def test_a_gap_is_not_bridged(upload, work):
    work()
    readings = [row for row in power(range(200)) if not 110 < row[0] < 120]

    upload(piece(readings))

    assert figures(RunEnergy.objects.get())[:2] == (30.0, 20.0)


def test_two_logs_of_a_meter_that_was_read_anew_are_one(upload, work):
    readings = power(range(200))
    work()

    upload(
        piece(readings[:115]),
        piece(readings[116:], log="9d7b9f3a-6b2e-4a38-9a0c-5f6b7c8d9e0f"),
    )

    # From second 114 to second 116 nobody read the meter.
    assert RunEnergy.objects.get().covered_s == 28.0


def test_a_counter_of_joules_tells_mean_power(upload, work):
    counts, joules = [], 0.0
    for second in range(200):
        counts.append((second, joules, joules / 4))
        joules += 50.0 if 100 <= second < 130 else 10.0
    work()

    upload(
        piece(
            counts,
            meter=RAPL,
            measures="energy",
            channels=["package-0", "core"],
            total=["package-0"],
        )
    )

    row = RunEnergy.objects.get()
    assert figures(row) == (30.0, 30.0, 1500.0)
    assert row.meter.is_cpu_only
    assert row.idle_w == pytest.approx(10.0)


def test_runs_that_overlap_share_one_energy(upload, work):
    first, second = work(100, 125), work(110, 130)

    upload(piece(power(range(200))))

    rows = RunEnergy.objects.order_by("run")
    assert [row.run_id for row in rows] == [first, second]
    assert {row.lead_id for row in rows} == {first}
    assert {row.together for row in rows} == {2}
    assert {figures(row) for row in rows} == {(30.0, 30.0, 3600.0)}


def test_a_run_that_was_uploaded_twice_has_its_energy_once(upload, work, person):
    upload(piece(power(range(200))))
    run_id = work(started_at="2026-05-01T12:00:00Z")
    again = work(started_at="2026-05-01T12:00:00Z")
    integrate()
    assert {row.together for row in RunEnergy.objects.all()} == {2}

    check_study(Study.objects.get())
    integrate()

    row = RunEnergy.objects.get()
    assert (row.run_id, row.together) == (run_id, 1)
    assert figures(row) == (30.0, 30.0, 3600.0)

    flag = Flag.objects.get(rule="uploaded-twice")
    decide_flag(flag=flag, status="dismissed", note="Two.", who="c", person=person)
    check_study(Study.objects.get())
    integrate()

    together = dict(RunEnergy.objects.values_list("run", "together"))
    assert together == {run_id: 2, again: 2}


def test_a_run_that_comes_later_takes_its_share(upload, work):
    work(100, 125)
    upload(piece(power(range(200))))
    assert RunEnergy.objects.get().together == 1

    work(110, 130)
    integrate()

    assert {row.together for row in RunEnergy.objects.all()} == {2}


def test_two_meters_make_two_energies(upload, work):
    work()

    upload(piece(power(range(200))), piece(power(range(200), 40, 60), meter=RAPL))

    rows = RunEnergy.objects.order_by("meter__name")
    assert [figures(row)[2] for row in rows] == [1800.0, 3600.0]


def test_a_run_whose_window_nobody_checked_is_told_apart(upload, submit, run_document):
    stated = {"started_at": "2026-11-07T00:28:20Z", "facts": {"elapsed_s": 30}}
    submit(run_document(**stated))
    run = Run.objects.get()
    begin = run.started_at.timestamp() - 1_794_000_000

    upload(piece(power(range(int(begin) - 50, int(begin) + 80), begin=begin)))

    assert not RunEnergy.objects.get().is_external


def test_a_run_of_no_known_time_has_no_energy(upload, submit, run_document):
    submit(run_document())

    upload(piece(power(range(200))))

    assert not RunEnergy.objects.exists()


def test_a_log_by_a_wall_clock_is_set_right_too(upload, work):
    document = piece(power(range(200)), axis="wall", stamps=[stamp(300)])
    for sample in document["samples"]:
        sample[0] += stamp(0)["local_wall_us"] - stamp(0)["local_monotonic_us"]
    work()

    upload(document)

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_another_machines_power_is_not_counted(upload, work, lab):
    work()

    with pytest.raises(UnknownNameError, match="Register the host first"):
        upload(piece(power(range(200)), host="beta"))


def test_a_meter_keeps_its_accuracy(upload):
    upload(piece(power(range(200))))

    with pytest.raises(ConflictError, match="another gain_error"):
        upload(piece(power(range(200)), meter={**WALL, "gain_error": 0.03}))
