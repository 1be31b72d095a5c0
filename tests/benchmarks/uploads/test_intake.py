"""Intake of uploads: unchanged, idempotent and atomic."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import orjson
import pytest
from django.db import connection

from benchmarks.errors import BatchRejectedError
from benchmarks.models import Agent, Run, RunOutput, System
from benchmarks.uploads.intake import submit_runs
from tests import job_queue


def refusal(agent: Agent, *documents) -> BatchRejectedError:
    """Submit documents that must be rejected, and return the error."""
    with pytest.raises(BatchRejectedError) as caught:
        submit_runs(agent=agent, documents=documents)
    return caught.value


def test_upload_is_stored_unchanged_with_its_digest(agent, run_document):
    document = run_document()

    (submission,) = submit_runs(agent=agent, documents=[document])

    output = RunOutput.objects.get(run_id=submission.run_id)
    assert orjson.loads(output.text) == document
    assert output.run.digest == sha256(output.text.encode()).hexdigest()


def test_job_is_stored_in_the_same_transaction(agent, run_document):
    (submission,) = submit_runs(agent=agent, documents=[run_document()])

    assert job_queue.waiting("upload").get().subject_id == submission.run_id
    assert submission.status == Run.Status.RECEIVED


def test_repeated_upload_is_one_run(agent, run_document):
    document = run_document()
    (first,) = submit_runs(agent=agent, documents=[document])

    (second,) = submit_runs(agent=agent, documents=[document])

    assert (second.run_id, first.repeated, second.repeated) == (
        first.run_id,
        False,
        True,
    )
    assert Run.objects.count() == 1


def test_repeated_upload_in_one_batch_is_one_run(agent, run_document):
    document = run_document()

    first, second = submit_runs(agent=agent, documents=[document, document])

    assert (second.run_id, second.repeated) == (first.run_id, True)


def test_reused_key_with_other_content_is_a_conflict(agent, run_document):
    document = run_document()
    submit_runs(agent=agent, documents=[document])

    error = refusal(agent, {**document, "note": "changed"})

    assert (error.status, error.problems[0].code) == (409, "key_reused")


def test_same_key_of_another_agent_is_another_run(agent, lab, run_document):
    document = run_document()
    twin = Agent.objects.create(lab=lab, name="twin")

    (first,) = submit_runs(agent=agent, documents=[document])
    (second,) = submit_runs(agent=twin, documents=[document])

    assert first.run_id != second.run_id


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tool": "linpak"}, "unknown_tool"),
        ({"study": "no-such-study"}, "unknown_study"),
        ({"system": {"host": "no-such-host"}}, "unknown_host"),
    ],
)
def test_one_invalid_document_rejects_the_batch(agent, run_document, change, code):
    error = refusal(agent, run_document(), run_document(**change), run_document())

    assert {place: problem.code for place, problem in error.problems.items()} == {
        1: code
    }
    assert Run.objects.count() == job_queue.waiting("upload").count() == 0
    assert System.objects.count() == 0


def test_error_names_the_invalid_sample(agent, run_document):
    document = run_document()
    document["samples"].append({"metric": "IOps", "value": -1, "unit": "1/s"})

    error = refusal(agent, document)

    assert error.problems[0].field == "samples[1]"


def test_system_of_another_lab_is_unknown(agent, other_lab, run_document, submit):
    submit(run_document())
    theirs = System.objects.get()
    System.objects.filter(pk=theirs.pk).update(lab=other_lab)

    error = refusal(agent, run_document() | {"system": theirs.pk})

    assert error.problems[0].code == "unknown_system"


def test_single_vm_has_slot_1_of_1_by_default(agent, run_document):
    stated = run_document(scenario="single", vms=1, slot="1")
    submit_runs(agent=agent, documents=[stated, run_document()])

    assert set(Run.objects.values_list("scenario", "vms", "slot")) == {
        ("single", 1, "1")
    }


@pytest.mark.django_db(transaction=True)
def test_fifty_threads_with_the_same_key_store_one_run(agent, run_document):
    document = run_document(key=str(uuid.uuid4()))

    def submit(_: int) -> int:
        try:
            return submit_runs(agent=agent, documents=[document])[0].run_id
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as threads:
        ids = set(threads.map(submit, range(50)))

    assert len(ids) == Run.objects.count() == job_queue.waiting("upload").count() == 1
