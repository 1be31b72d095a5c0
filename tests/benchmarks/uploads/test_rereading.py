"""History read again: the samples follow today's parsers, and the report says which."""

import orjson
import pytest

from benchmarks.models import Cell, Efficiency, Reread, Run, RunOutput
from benchmarks.sentences import Sentence, kept_words
from benchmarks.uploads import rereading
from benchmarks.uploads.intake import submit_runs
from tests import jobs
from tests.data.rebuild import DATA

HDPARM = " Timing buffered disk reads: 318 MB in 3.01 seconds = {} MB/sec\n"
NATIVE, VM = HDPARM.format("100.00"), HDPARM.format("50.00")


@pytest.fixture
def raw(run_document):
    def make(output, **changes):
        document = run_document(output=output, **changes)
        del document["samples"], document["tool"]
        return document

    return make


@pytest.fixture
def measured(submit, raw, xen):
    """A native and a Xen upload of raw output."""
    return submit(raw(NATIVE), raw(VM, system=xen))


def read_otherwise(old, new):
    """Let history be read as a better parser would: change what it will find."""
    for kept in RunOutput.objects.all():
        text = orjson.dumps(new).decode()[1:-1]
        kept.text = kept.text.replace(orjson.dumps(old).decode()[1:-1], text)
        kept.save()


def reread(**which):
    made = rereading.begin_reread(**which)
    for _ in rereading.steps(made):
        pass
    return made


def counts(made):
    return (made.changed, made.vanished, made.appeared, made.failed)


def test_a_sound_history_does_not_change(measured):
    made = reread()

    assert (made.done, made.total, counts(made)) == (2, 2, (0, 0, 0, 0))
    assert made.finished_at


def test_words_that_were_kept_in_english_alone_get_their_parts(submit, raw):
    submit(raw("nobody knows this"), raw((DATA / "hpcc/appended-1.4.txt").read_text()))
    for run in Run.objects.all():
        run.reason = str(run.reason)
        run.warnings = [
            {"code": warning["code"], "sentence": warning["sentence"]}
            for warning in run.warnings
        ]
        run.save()

    assert counts(reread()) == (0, 0, 0, 0)

    kept = [
        kept_words(warning) for run in Run.objects.all() for warning in run.warnings
    ]
    reasons = [run.reason for run in Run.objects.exclude(reason="")]
    assert kept
    assert reasons
    assert {type(sentence) for sentence in [*kept, *reasons]} == {Sentence}


def test_what_changed_is_reported_and_the_efficiencies_follow(measured):
    assert Efficiency.objects.get(state="paired").ratio == 0.5
    read_otherwise(" 50.00 MB", " 80.00 MB")

    made = reread()

    assert counts(made) == (1, 0, 0, 0)
    (change,) = made.changes
    assert (change["kind"], change["run"]) == ("changed", measured[1].run_id)
    assert (change["before"][0], change["after"][0]) == pytest.approx(
        (50 * 1.048576, 80 * 1.048576)
    )
    assert Efficiency.objects.get(state="paired").ratio == pytest.approx(0.8)


def test_what_vanished_takes_its_cell_along(measured):
    read_otherwise(VM, "Segmentation fault")

    made = reread()

    assert counts(made) == (0, 1, 0, 0)
    assert Run.objects.get(pk=measured[1].run_id).status == "rejected"
    assert Cell.objects.count() == 1


def test_what_nobody_could_read_appears_when_somebody_can(submit, raw):
    submit(raw("Segmentation fault"))
    read_otherwise("Segmentation fault", NATIVE * 1)

    made = reread(tool="hdparm")

    assert counts(made) == (0, 0, 1, 0)
    assert Run.objects.get().status == "parsed"


def test_only_the_named_tool_is_read_again(measured, submit, run_document):
    submit(run_document())

    assert reread(tool="iometer").done == 1
    assert reread(tool="hdparm").done == 2


def test_only_the_named_study_is_read_again(measured, private_study):
    assert reread(study=private_study).done == 0


def test_a_study_is_read_again_once_at_a_time(measured, study):
    first = rereading.begin_reread(study=study)
    assert rereading.begin_reread(study=study) == first
    assert rereading.begin_reread(study=study, tool="hpcc") != first

    rereading.proceed()

    assert rereading.begin_reread(study=study) != first


def test_an_upload_that_breaks_the_reader_does_not_stop_the_others(measured):
    RunOutput.objects.filter(run=measured[0].run_id).update(text="not JSON")

    made = reread()

    assert (made.done, counts(made)) == (2, (0, 0, 0, 1))
    assert made.failures[0]["run"] == measured[0].run_id


def test_a_quarantined_upload_is_taken_up(agent, raw):
    submit_runs(agent=agent, documents=[raw(NATIVE)])
    jobs.waiting("upload").update(quarantined_at="2026-01-01T00:00Z", error="broken")
    Run.objects.update(status="quarantined", reason="broken")

    reread()

    assert Run.objects.get().status == "parsed"
    assert not jobs.waiting("upload").exists()


def test_steps_go_on_where_the_last_one_ended(submit, raw, monkeypatch):
    submit(*(raw(NATIVE) for _ in range(5)))
    monkeypatch.setattr(rereading, "STEP", 2)
    made = rereading.begin_reread()

    dones = [state.done for state in rereading.steps(made)]

    assert dones == [2, 4, 5]


def test_the_sweeper_does_what_is_left(measured):
    rereading.begin_reread()

    assert rereading.proceed() == 1
    assert Reread.objects.get().finished_at
    assert rereading.proceed() == 0
