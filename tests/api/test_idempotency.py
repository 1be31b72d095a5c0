"""Uploads with the same key are one run, also if they are repeated or simultaneous."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from benchmarks.labs import tokens
from benchmarks.models import Run
from benchmarks.uploads import processing
from tests import job_queue
from tests.api.conftest import Api


def test_repeated_uploads_are_200_with_the_same_id(api, run_document):
    document = run_document()
    first = api.post("runs/", document)

    again = api.post("runs/", document)

    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json() == first.json()
    assert again.headers["Location"] == first.headers["Location"]
    assert Run.objects.count() == 1


def test_repeated_uploads_return_the_status(api, run_document):
    document = run_document()
    api.post("runs/", document)
    processing.process_due_uploads()

    assert api.post("runs/", document).json()["status"] == "parsed"


def test_order_of_keys_does_not_matter(api, run_document):
    document = run_document()
    api.post("runs/", document)

    assert api.post("runs/", dict(reversed(document.items()))).status_code == 200


def test_known_keys_with_other_content_are_409(api, run_document):
    document = run_document()
    api.post("runs/", document)

    answer = api.post("runs/", {**document, "note": "changed"})

    assert (answer.status_code, answer.json()["code"]) == (409, "key_reused")
    assert document["key"] in answer.json()["detail"]
    assert Run.objects.get().note == ""


def test_agents_have_separate_keys(api, lab, run_document):
    document = run_document()
    colleague = lab.agents.create(name="alan")
    _, secret = tokens.issue_token(agent=colleague, can_upload=True)

    first = api.post("runs/", document)
    second = api.post("runs/", document, token=secret)

    assert (first.status_code, second.status_code) == (202, 202)
    assert Run.objects.count() == 2


def test_tokens_of_one_agent_share_keys(api, agent, run_document):
    document = run_document()
    api.post("runs/", document)
    _, secret = tokens.issue_token(agent=agent, can_upload=True)

    assert api.post("runs/", document, token=secret).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_fifty_simultaneous_uploads_are_one_run(token, run_document):
    document = run_document(key=str(uuid.uuid4()))

    def send(_number):
        try:
            answer = Api(token).post("runs/", document)
            return answer.status_code, answer.json()["id"]
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, range(50)))

    assert sorted(status for status, _ in answers) == [200] * 49 + [202]
    assert len({run_id for _, run_id in answers}) == 1
    assert Run.objects.count() == job_queue.waiting("upload").count() == 1


@pytest.mark.django_db(transaction=True)
def test_overlapping_simultaneous_bulks_store_each_run_once(token, run_document):
    documents = [run_document(value=10 + number) for number in range(40)]

    def send(number):
        shifted = documents[number:] + documents[:number]
        try:
            return Api(token).bulk(shifted).json()["accepted"]
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        accepted = list(pool.map(send, range(10)))

    assert sum(accepted) == Run.objects.count() == 40
