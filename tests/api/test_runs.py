"""/runs/: upload and retrieval of runs."""

import gzip

import orjson
import pytest

from benchmarks.models import Run, RunOutput
from benchmarks.studies.checking import check_study
from benchmarks.uploads import processing
from tests import job_queue

KEY = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"


def test_runs_are_stored(api, run_document):
    answer = api.post("runs/", run_document(key=KEY))

    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {
        "id": run.pk,
        "key": KEY,
        "status": "received",
        "url": f"http://testserver/api/v1/runs/{run.pk}/",
    }
    assert answer.headers["Location"] == answer.json()["url"]
    assert job_queue.waiting("upload").get().subject_id == run.pk


def test_all_fields_are_accepted(api, run_document, reader):
    said = {
        "tool_version": "2006.07.27",
        "scenario": "parallel",
        "vms": 2,
        "slot": "1",
        "load": "LINPACK in 2 further VMs",
        "corun": "pair 1",
        "session": "Tuesday",
        "clock": "external",
        "started_at": "2010-07-29T12:00:00.5+02:00",
        "document": "Gebhardt 2010",
        "table": "Anhang A: Netzwerk Linux",
        "note": "first line\nsecond line",
        "facts": {"kernel": "2.6.28", "steal": 0.5, "modules": ["xen", None]},
    }
    pk = api.post("runs/", run_document(**said)).json()["id"]

    read = reader.get(f"runs/{pk}/").json()

    assert read["started_at"] == "2010-07-29T10:00:00.500000Z"
    read["session"] = read["declared_session"]  # as the uploader named it
    assert {name: read[name] for name in said if name != "started_at"} == {
        name: value for name, value in said.items() if name != "started_at"
    }


def test_uploads_are_stored_unchanged(api, run_document):
    document = run_document(note="Überlast 测试")

    api.post("runs/", document)

    assert orjson.loads(RunOutput.objects.get().text) == document


def test_gzipped_runs_are_accepted(api, run_document):
    answer = api.packed("runs/", orjson.dumps(run_document()))

    assert answer.status_code == 202


UNKNOWN_PLATFORM = {"layers": ["unknown"], "conflict": False}


@pytest.mark.parametrize("is_bulk", [True, False])
@pytest.mark.parametrize("by_id", [True, False])
def test_native_system_of_an_unknown_machine_needs_a_confirmation(
    api, run_document, measured, by_id, is_bulk
):
    def send(**platform):
        facts = {"platform": {**UNKNOWN_PLATFORM, **platform}}
        document = run_document(facts=facts)
        if by_id:
            native = Run.objects.get(system__hypervisor="native")
            document["system"] = native.system_id
        return api.bulk([document]) if is_bulk else api.post("runs/", document)

    refused = send()

    assert refused.status_code == 422
    assert "--confirm-native" in refused.text
    assert send(confirmed="native").status_code == 202


def test_systems_can_be_named_by_id(api, run_document, measured):
    run = Run.objects.first()

    answer = api.post("runs/", {**run_document(), "system": run.system_id})

    assert answer.status_code == 202
    assert Run.objects.latest("pk").system == run.system


def test_runs_have_their_samples(anyone, api, run_document):
    pk = api.post("runs/", run_document(value=423_760)).json()["id"]
    processing.process_due_uploads()

    read = anyone.get(f"runs/{pk}/").json()

    assert (read["status"], read["sample_count"]) == ("parsed", 1)
    assert read["samples"][0]["value"] == 423_760
    assert read["samples"][0]["unit"] == "MB/s"
    assert read["samples_url"] == f"http://testserver/api/v1/runs/{pk}/samples/"


def test_samples_are_converted_to_the_unit_of_their_metric(anyone, api, run_document):
    document = run_document()
    document["samples"][0] |= {"value": 5_000_000, "unit": "B/s"}
    pk = api.post("runs/", document).json()["id"]
    processing.process_due_uploads()

    (sample,) = anyone.get(f"runs/{pk}/").json()["samples"]

    assert (sample["value"], sample["unit"]) == (5, "MB/s")


def test_more_than_a_hundred_samples_are_not_inlined(anyone, api, run_document):
    document = run_document()
    document["samples"] = [
        {**document["samples"][0], "repetition": number} for number in range(1, 102)
    ]
    pk = api.post("runs/", document).json()["id"]
    processing.process_due_uploads()

    read = anyone.get("runs/").json()["results"][0]
    page = anyone.get(f"runs/{pk}/samples/", page_size=100).json()

    assert (read["sample_count"], read["samples"]) == (101, None)
    assert [row["repetition"] for row in page["results"]] == list(range(1, 101))
    assert page["next"].endswith(f"/{pk}/samples/?cursor=after-100&page_size=100")


def test_derived_samples_are_marked(anyone, submit, run_document):
    document = run_document(100.0)
    share = {**document["samples"][0], "metric": "CPU utilization (network)"}
    document["samples"].append({**share, "value": 20.0, "unit": "%"})
    (submission,) = submit(document)
    url = f"runs/{submission.run_id}/"

    inline = anyone.get(url).json()["samples"]
    paged = anyone.get(f"{url}samples/").json()["results"]

    found = [(row["metric"], row["is_derived"]) for row in inline]
    assert found == [
        ("network throughput", False),
        ("CPU utilization (network)", False),
        ("CPU time per data (network)", True),
    ]
    assert paged == inline


def test_runs_can_be_filtered(anyone, measured):
    def keys(**query):
        return [row["key"] for row in anyone.get("runs/", **query).json()["results"]]

    native, guest = (str(row.key) for row in measured)
    system = Run.objects.get(key=guest).system_id
    assert keys() == [native, guest]
    assert keys(study="study", tool="Iometer", status="parsed") == [native, guest]
    assert keys(system=system) == [guest]
    assert keys(status="received") == []


def test_private_runs_are_404_like_missing_ones(
    anyone, api, reader, run_document, private_study, other_read_token
):
    pk = api.post("runs/", run_document(study="secret-study")).json()["id"]

    for token in ("", other_read_token):
        for path in (f"runs/{pk}/", f"runs/{pk}/samples/", "runs/99/"):
            answer = anyone.get(path, token=token)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert anyone.get("runs/", token=token).json()["results"] == []
    assert reader.get(f"runs/{pk}/").status_code == 200


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"study": "missing"}, "unknown_study", "POST /api/v1/studies/"),
        ({"study": "theirs"}, "unknown_study", "POST /api/v1/studies/"),
        ({"tool": "linpak"}, "unknown_tool", "LINPACK"),
        ({"system": {"host": "beta"}}, "unknown_host", "POST /api/v1/hosts/"),
    ],
)
def test_unknown_names_are_422(api, run_document, foreign_study, changes, code, says):
    answer = api.post("runs/", run_document(**changes))

    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert says in answer.json()["detail"]
    assert not Run.objects.exists()


@pytest.mark.parametrize("owner", ["other", "nobody"])
def test_systems_of_other_labs_are_422_like_missing_ones(
    stranger, run_document, measured, foreign_study, owner
):
    system = Run.objects.first().system_id if owner == "other" else 999_999

    answer = stranger.post("runs/", {**run_document(study="theirs"), "system": system})

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_system")


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        ({"metric": "network thruput"}, "unknown_metric"),
        ({"unit": "s"}, "invalid_unit"),
        ({"unit": "furlong"}, "invalid_unit"),
        ({"value": 0}, "value_rejected"),
        ({"value": -5}, "value_rejected"),
        ({"parameters": {"Block Size": "4k", "block_size": "8k"}}, "invalid_parameter"),
    ],
)
def test_unprocessable_samples_are_422(api, run_document, sample, code):
    document = run_document()
    document["samples"].append({**document["samples"][0], **sample})

    answer = api.post("runs/", document)

    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert list(answer.json()["fields"]) == ["samples[1]"]
    assert not Run.objects.exists()


def test_pages_have_links_in_both_directions(anyone, api, run_document):
    api.bulk([run_document() for _ in range(7)])
    ids = list(Run.objects.values_list("pk", flat=True).order_by("pk"))

    first = anyone.get("runs/", page_size=3, study="study").json()
    second = anyone.client.get(first["next"]).json()
    third = anyone.client.get(second["next"]).json()
    back = anyone.client.get(third["previous"]).json()

    pages = [[row["id"] for row in page["results"]] for page in (first, second, third)]
    assert pages == [ids[:3], ids[3:6], ids[6:]]
    assert (first["previous"], third["next"]) == (None, None)
    assert [row["id"] for row in back["results"]] == ids[3:6]
    assert anyone.client.get(back["previous"]).json()["results"] == first["results"]
    assert anyone.client.get(back["previous"]).json()["previous"] is None


def test_query_count_is_fixed(anyone, api, run_document, django_assert_num_queries):
    api.bulk([run_document() for _ in range(20)])
    processing.process_due_uploads()

    with django_assert_num_queries(3):
        assert len(anyone.get("runs/").json()["results"]) == 20


def test_zip_bombs_are_413(api, db):
    answer = api.packed("runs/", b'{"note":"' + b" " * 5_000_000 + b'"}')

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_bodies_above_the_limit_are_413(api, db):
    answer = api.post("runs/", b'{"note":"' + b"x" * 9_000_000 + b'"}')

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_other_encodings_are_415(api, run_document):
    answer = api.post("runs/", gzip.compress(b"{}"), Content_Encoding="br")

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_encoding")


def test_empty_bodies_are_400(api, db):
    answer = api.post("runs/", b"")

    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "The body is empty. Send a JSON object.",
    )


def test_duplicates_name_the_first_run(client, submit, run_document, study):
    start = "2026-05-01T12:00:00Z"
    first, again = (
        submit(run_document(52.97, started_at=start))[0].run_id for _ in range(2)
    )

    check_study(study)

    assert client.get(f"/api/v1/runs/{first}/").json()["duplicate_of"] is None
    assert client.get(f"/api/v1/runs/{again}/").json()["duplicate_of"] == first
