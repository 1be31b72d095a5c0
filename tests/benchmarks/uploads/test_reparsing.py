"""Reparsing: samples follow the current parsers, and changes are reported."""

import orjson
import pytest

from benchmarks.models import Cell, Efficiency, Reparse, Run, RunOutput
from benchmarks.sentences import Sentence, sentence_from_json
from benchmarks.uploads import reparsing
from benchmarks.uploads.intake import submit_runs
from tests import job_queue
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


def change_outputs(old, new):
    """Simulate a better parser by changing its results."""
    for stored in RunOutput.objects.all():
        text = orjson.dumps(new).decode()[1:-1]
        stored.text = stored.text.replace(orjson.dumps(old).decode()[1:-1], text)
        stored.save()


def reparse_all(**which):
    created = reparsing.create_reparse(**which)
    for _ in reparsing.run_to_end(created):
        pass
    return created


def counts(reparse):
    return (reparse.changed, reparse.vanished, reparse.appeared, reparse.failed)


def test_correct_results_do_not_change(measured):
    created = reparse_all()

    assert (created.done, created.total, counts(created)) == (2, 2, (0, 0, 0, 0))
    assert created.finished_at


def test_stored_english_texts_become_sentences(submit, raw):
    submit(raw("nobody knows this"), raw((DATA / "hpcc/appended-1.4.txt").read_text()))
    for run in Run.objects.all():
        run.reason = str(run.reason)
        run.warnings = [
            {"code": warning["code"], "sentence": warning["sentence"]}
            for warning in run.warnings
        ]
        run.save()

    assert counts(reparse_all()) == (0, 0, 0, 0)

    stored = [
        sentence_from_json(warning)
        for run in Run.objects.all()
        for warning in run.warnings
    ]
    reasons = [run.reason for run in Run.objects.exclude(reason="")]
    assert stored
    assert reasons
    assert {type(sentence) for sentence in [*stored, *reasons]} == {Sentence}


def test_changes_are_reported_and_efficiencies_updated(measured):
    assert Efficiency.objects.get(state="paired").ratio == 0.5
    change_outputs(" 50.00 MB", " 80.00 MB")

    created = reparse_all()

    assert counts(created) == (1, 0, 0, 0)
    (change,) = created.changes
    assert (change["kind"], change["run"]) == ("changed", measured[1].run_id)
    assert (change["before"][0], change["after"][0]) == pytest.approx(
        (50 * 1.048576, 80 * 1.048576)
    )
    assert Efficiency.objects.get(state="paired").ratio == pytest.approx(0.8)


def test_vanished_samples_remove_their_cell(measured):
    change_outputs(VM, "Segmentation fault")

    created = reparse_all()

    assert counts(created) == (0, 1, 0, 0)
    assert Run.objects.get(pk=measured[1].run_id).status == "rejected"
    assert Cell.objects.count() == 1


def test_unreadable_upload_appears_with_a_better_parser(submit, raw):
    submit(raw("Segmentation fault"))
    change_outputs("Segmentation fault", NATIVE * 1)

    created = reparse_all(tool="hdparm")

    assert counts(created) == (0, 0, 1, 0)
    assert Run.objects.get().status == "parsed"


def test_only_the_selected_tool_is_reparsed(measured, submit, run_document):
    submit(run_document())

    assert reparse_all(tool="iometer").done == 1
    assert reparse_all(tool="hdparm").done == 2


def test_only_the_selected_study_is_reparsed(measured, private_study):
    assert reparse_all(study=private_study).done == 0


def test_study_has_one_unfinished_reparse(measured, study):
    first = reparsing.create_reparse(study=study)
    assert reparsing.create_reparse(study=study) == first
    assert reparsing.create_reparse(study=study, tool="hpcc") != first

    reparsing.advance_reparses()

    assert reparsing.create_reparse(study=study) != first


def test_failing_upload_does_not_stop_the_others(measured):
    RunOutput.objects.filter(run=measured[0].run_id).update(text="not valid JSON")

    created = reparse_all()

    assert (created.done, counts(created)) == (2, (0, 0, 0, 1))
    assert created.failures[0]["run"] == measured[0].run_id


def test_quarantined_upload_is_reparsed(agent, raw):
    submit_runs(agent=agent, documents=[raw(NATIVE)])
    job_queue.waiting("upload").update(
        quarantined_at="2026-01-01T00:00Z", error="broken"
    )
    Run.objects.update(status="quarantined", reason="broken")

    reparse_all()

    assert Run.objects.get().status == "parsed"
    assert not job_queue.waiting("upload").exists()


def test_steps_continue_after_the_last_one(submit, raw, monkeypatch):
    submit(*(raw(NATIVE) for _ in range(5)))
    monkeypatch.setattr(reparsing, "UPLOADS_PER_STEP", 2)
    created = reparsing.create_reparse()

    dones = [state.done for state in reparsing.run_to_end(created)]

    assert dones == [2, 4, 5]


def test_sweeper_does_the_remaining_steps(measured):
    reparsing.create_reparse()

    assert reparsing.advance_reparses() == 1
    assert Reparse.objects.get().finished_at
    assert reparsing.advance_reparses() == 0
