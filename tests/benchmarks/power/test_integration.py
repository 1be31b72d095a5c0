"""Power over the windows of runs, in any order of arrival."""

from datetime import timedelta

import pytest

from benchmarks.errors import ConflictError, UnknownNameError
from benchmarks.jobs.queue import enqueue_energy
from benchmarks.models import (
    Flag,
    Host,
    PowerChunk,
    Run,
    RunEnergy,
    Study,
)
from benchmarks.power import meter_logs
from benchmarks.power.logged_energy import run_energies
from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from benchmarks.sentences import Sentence
from benchmarks.studies.checking import check_study
from benchmarks.studies.flags import decide_flag
from benchmarks.uploads import processing
from tests import job_queue
from tests.power_logs import BEGIN_S, WALL, WRONG_S, chunk, clock_of, power, stamp

RAPL = {"name": "RAPL", "kind": "rapl"}


def integrate():
    return integrate_due(timedelta(0))


@pytest.fixture
def upload(agent, host):
    """Store chunks of a log and integrate."""

    def take(*documents):
        for document in documents:
            store_power_chunk(agent=agent, document=document)
        integrate()

    return take


@pytest.fixture
def work(submit, run_document):
    """Submit a run timed by a time server, between two seconds."""

    def run(begin=100, end=130, **changes):
        facts = clock_of(begin, end)
        return submit(run_document(facts=facts, **changes))[0].run_id

    return run


def figures(row):
    return row.duration_s, row.measured_s, round(row.mean_w * row.duration_s, 6)


def test_energy_is_integrated_over_the_window_despite_clock_offsets(upload, work):
    upload(chunk(power(range(200))))
    work()

    integrate()

    row = RunEnergy.objects.get()
    # 31 readings of 120 W over 30 s, by a clock that is off by an hour.
    assert figures(row) == (30.0, 30.0, 3600.0)
    assert (row.sample_count, row.interval_s, row.overlapping_runs) == (31, 1.0, 1)
    assert row.is_external_clock
    assert row.idle_w == 80.0


CSV = {"name": "bench supply", "kind": "csv"}
OTHER_LOG = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"


def log_file(samples, begin_s=0, **changes):
    """Return a file's only chunk, by a wall clock, as `power csv` sends it."""
    made = chunk(power(range(200)), meter=CSV, axis="wall", **changes)
    wall_s = BEGIN_S + WRONG_S + begin_s
    made["samples"] = [[round(1e6 * (wall_s + s)), watts] for s, watts in samples]
    return made


def test_a_repeated_file_is_the_same_chunk(agent, host):
    sent = log_file(power(range(200)))
    again = {**sent, "stamps": [stamp(900)]}

    store_power_chunk(agent=agent, document=sent)

    assert store_power_chunk(agent=agent, document=again).is_repeated
    with pytest.raises(ConflictError):
        store_power_chunk(
            agent=agent, document={**again, "samples": sent["samples"][:9]}
        )


def test_a_file_with_another_start_replaces_the_chunk(upload, work):
    work()
    upload(log_file(power(range(200)), begin_s=7))
    shifted = RunEnergy.objects.get().mean_w

    upload(log_file(power(range(200))))

    row = RunEnergy.objects.get()
    assert shifted < 120
    assert figures(row) == (30.0, 30.0, 3600.0)
    assert row.sample_count == 31


def test_a_moved_file_leaves_no_energy_behind(upload, work):
    work()
    upload(log_file(power(range(200))))
    assert RunEnergy.objects.count() == 1

    upload(log_file(power(range(200)), begin_s=7200))

    assert not RunEnergy.objects.exclude(mean_w=None).exists()


def test_a_corrected_file_replaces_what_it_overlaps(upload, work):
    work()
    upload(log_file(power(range(200), work=12.0)))

    upload(log_file(power(range(90, 140)), log=OTHER_LOG))

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_a_log_can_arrive_after_the_runs(upload, work):
    work()

    upload(chunk(power(range(200))))

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_integration_is_idempotent(upload, work):
    upload(chunk(power(range(200))))
    work()
    integrate()
    before = list(RunEnergy.objects.values())

    processing.process_runs(list(Run.objects.all()))
    integrate()

    assert list(RunEnergy.objects.values()) == before
    assert integrate() == 0
    assert not job_queue.waiting("energy").exists()


def test_a_failing_host_does_not_stop_others(upload, work, lab, monkeypatch, caplog):
    others = [Host.objects.create(lab=lab, slug=f"other-{n}") for n in range(3)]
    enqueue_energy((host.pk, None, None) for host in others)
    store = meter_logs._store_windows

    def fail_for_others(host_id):
        if host_id in {host.pk for host in others}:
            raise KeyError("no such meter")
        return store(host_id)

    monkeypatch.setattr(meter_logs, "_store_windows", fail_for_others)
    monkeypatch.setattr(meter_logs, "HOSTS_PER_CALL", 3)
    assert integrate() == 0
    assert job_queue.failed(failures=1).count() == 3

    work()
    upload(chunk(power(range(200))))

    # Waiting jobs do not block others.
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)
    assert job_queue.waiting("energy").count() == 3


def test_the_same_chunk_twice_is_stored_once(agent, upload, host):
    document = chunk(power(range(200)))

    first, second = (
        store_power_chunk(agent=agent, document=document) for _ in range(2)
    )

    assert (first.is_repeated, second.is_repeated) == (False, True)
    assert PowerChunk.objects.count() == 1
    with pytest.raises(ConflictError):
        store_power_chunk(agent=agent, document={**document, "number": 2})


def test_chunks_may_arrive_in_any_order(upload, work):
    readings = power(range(200))
    work()

    upload(chunk(readings[115:], number=2))
    late = RunEnergy.objects.get()
    assert late.measured_s == 15.0

    upload(chunk(readings[:115], number=1))
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_a_chunk_without_a_stamp_waits_for_one(upload, work):
    readings = power(range(200))
    work()

    upload(chunk(readings[:150], number=1, stamps=[]))
    assert not RunEnergy.objects.exists()
    assert PowerChunk.objects.get().first_at is None

    upload(chunk(readings[150:], number=2))
    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_partial_coverage_is_reported(upload, work):
    work()

    upload(chunk(power(range(110, 200))))

    row = RunEnergy.objects.get()
    assert (row.duration_s, row.measured_s) == (30.0, 20.0)


def test_a_meter_without_samples_of_the_work_has_no_energy(upload, work):
    work()
    readings = [row for row in power(range(200)) if not 95 <= row[0] <= 135]

    upload(chunk(readings))

    row = RunEnergy.objects.get()
    assert row.mean_w is None
    assert row.measured_s == 0
    assert "measured nothing in the time window" in row.reason
    assert isinstance(row.reason, Sentence)


def test_reservations_are_translatable(upload, work):
    run = Run.objects.get(pk=work())
    readings = [row for row in power(range(200)) if not 110 < row[0] < 120]

    upload(chunk(readings))

    (metered,) = run_energies(run.study)
    assert isinstance(metered.sentence, Sentence)
    (missing,) = metered.sentence.parameters.values()
    assert missing.parameters == {"missing": "10", "all": "30", "share": "33"}


def test_a_meter_of_another_time_has_no_row(upload, work):
    work(1000, 1030)

    upload(chunk(power(range(200))))

    assert not RunEnergy.objects.exists()


def test_a_gap_is_not_bridged(upload, work):
    work()
    readings = [row for row in power(range(200)) if not 110 < row[0] < 120]

    upload(chunk(readings))

    assert figures(RunEnergy.objects.get())[:2] == (30.0, 20.0)


def test_two_logs_of_one_meter_are_joined(upload, work):
    readings = power(range(200))
    work()

    upload(
        chunk(readings[:115]),
        chunk(readings[116:], log="9d7b9f3a-6b2e-4a38-9a0c-5f6b7c8d9e0f"),
    )

    # Without samples from second 114 to second 116.
    assert RunEnergy.objects.get().measured_s == 28.0


def test_a_counter_of_joules_gives_mean_power(upload, work):
    counts, joules = [], 0.0
    for second in range(200):
        counts.append((second, joules, joules / 4))
        joules += 50.0 if 100 <= second < 130 else 10.0
    work()

    upload(
        chunk(
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

    upload(chunk(power(range(200))))

    rows = RunEnergy.objects.order_by("run")
    assert [row.run_id for row in rows] == [first, second]
    assert {row.lead_run_id for row in rows} == {first}
    assert {row.overlapping_runs for row in rows} == {2}
    assert {figures(row) for row in rows} == {(30.0, 30.0, 3600.0)}


def test_a_run_that_was_uploaded_twice_has_its_energy_once(upload, work, person):
    upload(chunk(power(range(200))))
    run_id = work(started_at="2026-05-01T12:00:00Z")
    again = work(started_at="2026-05-01T12:00:00Z")
    integrate()
    assert {row.overlapping_runs for row in RunEnergy.objects.all()} == {2}

    check_study(Study.objects.get())
    integrate()

    row = RunEnergy.objects.get()
    assert (row.run_id, row.overlapping_runs) == (run_id, 1)
    assert figures(row) == (30.0, 30.0, 3600.0)

    flag = Flag.objects.get(rule="uploaded-twice")
    decide_flag(flag=flag, status="dismissed", note="Two.", actor="c", person=person)
    check_study(Study.objects.get())
    integrate()

    together = dict(RunEnergy.objects.values_list("run", "overlapping_runs"))
    assert together == {run_id: 2, again: 2}


def test_a_later_overlapping_run_shares_the_energy(upload, work):
    work(100, 125)
    upload(chunk(power(range(200))))
    assert RunEnergy.objects.get().overlapping_runs == 1

    work(110, 130)
    integrate()

    assert {row.overlapping_runs for row in RunEnergy.objects.all()} == {2}


def test_two_meters_give_two_energies(upload, work):
    work()

    upload(chunk(power(range(200))), chunk(power(range(200), 40, 60), meter=RAPL))

    rows = RunEnergy.objects.order_by("meter__name")
    assert [figures(row)[2] for row in rows] == [1800.0, 3600.0]


def test_an_unchecked_window_is_marked(upload, submit, run_document):
    stated = {"started_at": "2026-11-07T00:28:20Z", "facts": {"elapsed_s": 30}}
    submit(run_document(**stated))
    run = Run.objects.get()
    begin = run.started_at.timestamp() - 1_794_000_000

    upload(chunk(power(range(int(begin) - 50, int(begin) + 80), begin=begin)))

    assert not RunEnergy.objects.get().is_external_clock


def test_a_run_of_unknown_time_has_no_energy(upload, submit, run_document):
    submit(run_document())

    upload(chunk(power(range(200))))

    assert not RunEnergy.objects.exists()


def test_a_wall_clock_log_is_corrected(upload, work):
    document = chunk(power(range(200)), axis="wall", stamps=[stamp(300)])
    for sample in document["samples"]:
        sample[0] += stamp(0)["local_wall_us"] - stamp(0)["local_monotonic_us"]
    work()

    upload(document)

    assert figures(RunEnergy.objects.get()) == (30.0, 30.0, 3600.0)


def test_another_machines_power_is_not_counted(upload, work, lab):
    work()

    with pytest.raises(UnknownNameError, match="Register the host first"):
        upload(chunk(power(range(200)), host="beta"))


def test_a_meter_keeps_its_accuracy(upload):
    upload(chunk(power(range(200))))

    with pytest.raises(ConflictError, match="differs in gain_error"):
        upload(chunk(power(range(200)), meter={**WALL, "gain_error": 0.03}))
