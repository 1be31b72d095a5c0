"""/study-file/: export and import of a study, and the schema of the file."""

import gzip
import json
import re
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from jsonschema import Draft202012Validator
from psycopg import Cursor

from api.study_file_schema import MAX_MACHINES, study_file_schema
from benchmarks.datasets.study_export import sample_document
from benchmarks.models import Case, Host, Run, RunEnergy, Sample, Study, System
from benchmarks.parsing.study_file import VERSION
from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from benchmarks.studies.saving import update_study
from benchmarks.uploads.processing import process_due_uploads
from tests.custom_tools import declare
from tests.power_logs import chunk, clock_of, power

DOCS = Path(settings.BASE_DIR) / "docs"
VALIDATOR = Draft202012Validator(study_file_schema())


def exported(client, study, **query) -> bytes:
    answer = client.get("study-file/", study=str(study), **query)
    assert answer.status_code == 200, answer.content
    return answer.getvalue()


def document(content: bytes) -> dict:
    return json.loads(gzip.decompress(content))


def imported(client, content):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = client.post("study-file/", content)
    process_due_uploads()
    return answer


@pytest.fixture
def file(measured, reader, study):
    return document(exported(reader, study))


def test_the_saved_schema_is_current():
    saved = json.loads((DOCS / "study-file.schema.json").read_text())

    assert saved == study_file_schema(), "make docs"


def test_schema_is_served_and_valid(anyone):
    schema = anyone.get("study-file/schema/").json()

    assert schema == study_file_schema()
    Draft202012Validator.check_schema(schema)


def test_import_in_another_lab_exports_the_same_file(
    reader, stranger, measured, study, other_read_token
):
    content = exported(reader, study)

    answer = imported(stranger, content)

    assert answer.status_code == 202
    body = answer.json()
    assert (body["lab"], body["slug"], body["is_new"]) == ("beta-lab", "study", True)
    assert (body["accepted"], body["repeated"]) == (2, 0)
    assert exported(reader, "beta-lab/study", token=other_read_token) == content
    VALIDATOR.validate(document(content))


def test_import_is_private_and_changes_nothing_the_second_time(stranger, file):
    imported(stranger, file)
    update_study(study=Study.objects.get(lab__slug="beta-lab"), visibility="public")

    answer = imported(stranger, file)

    assert (answer.json()["is_new"], answer.json()["repeated"]) == (False, 2)
    assert Run.objects.filter(lab__slug="beta-lab").count() == 2


def test_import_into_the_exported_study_changes_nothing(api, file):
    answer = imported(api, file)

    assert (answer.json()["accepted"], answer.json()["repeated"]) == (0, 2)


def test_members_may_have_any_order(stranger, file):
    turned = dict(reversed(file.items()))

    assert imported(stranger, turned).status_code == 202


def test_references_notes_failures_and_settings_travel_along(
    reader, stranger, submit, run_document, xen, study
):
    submit(
        run_document(50.0, note="a note", failed="cable", facts={"fan": "on"}),
        run_document(13.0, system=xen, load="make", session="s1", corun="c1"),
        run_document(14.0, system={**xen, "hypervisor": "KVM"}),
    )
    kvm, native, xen_system = sorted(
        System.objects.all(),
        key=lambda system: ("KVM", "native", "Xen").index(system.hypervisor),
    )
    update_study(
        study=study,
        reference_system=xen_system.pk,
        system_references={str(kvm.pk): native.pk},
        equivalence_margin_percent=3.5,
        data_licence="CC-BY-SA-4.0",
        sources=[{"title": "A thesis", "url": "https://example.org/a.pdf"}],
    )
    content = document(exported(reader, study))

    imported(stranger, content)

    copy = Study.objects.get(lab__slug="beta-lab")
    assert copy.reference_system.hypervisor == "Xen"
    [(system, reference)] = copy.system_references.items()
    assert System.objects.get(pk=system).hypervisor == "KVM"
    assert System.objects.get(pk=reference).is_native
    assert (copy.equivalence_margin_percent, copy.data_licence) == (3.5, "CC-BY-SA-4.0")
    assert copy.sources == study.sources != []
    assert copy.visibility == "private"
    failed = Run.objects.get(study=copy, note="a note")
    assert (failed.stated_failure, failed.facts) == ("cable", {"fan": "on"})
    VALIDATOR.validate(content)


def test_declared_tools_travel_along(
    lab, agent, reader, stranger, submit, run_document, study
):
    declare(lab, agent, slug="stopwatch")
    sample = {"metric": "boot time", "value": 4.5, "unit": "s"}
    submit(run_document(tool="alpha-lab:stopwatch", samples=[sample]))
    content = document(exported(reader, study))

    answer = imported(stranger, content)

    assert answer.status_code == 202, answer.content
    assert Run.objects.get(lab__slug="beta-lab").tool == "beta-lab:stopwatch"
    VALIDATOR.validate(content)


HDPARM = " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec\n"


def test_raw_output_can_be_replaced_by_its_numbers(
    reader, stranger, submit, run_document, study
):
    raw = run_document(output=HDPARM, started_at="2026-03-02T10:00:00+00:00")
    submit({name: raw[name] for name in raw if name not in ("samples", "tool")})
    complete = document(exported(reader, study))
    numbers = document(exported(reader, study, raw_output="omit"))

    imported(stranger, numbers)

    assert complete["runs"][0]["output"] == HDPARM
    [run] = numbers["runs"]
    assert "output" not in run
    VALIDATOR.validate(numbers)
    first, second = Run.objects.order_by("pk")
    assert (first.tool, first.started_at) == (second.tool, second.started_at)
    values = [run.samples.values_list("case", "value") for run in (first, second)]
    assert list(values[0]) == list(values[1]) != []


@pytest.fixture
def metered(agent, submit, run_document):
    """Submit two runs, and a power log that covers them."""
    submit(
        run_document(facts=clock_of(110, 120)), run_document(facts=clock_of(130, 140))
    )
    store_power_chunk(agent=agent, document=chunk(power(range(100, 200))))
    integrate_due(timedelta(0))


def test_only_members_get_power_logs_and_only_on_request(
    metered, anyone, reader, study
):
    complete = document(exported(reader, study, power_logs="include"))

    assert len(complete["power"]) == 1
    assert "left_out" not in complete
    VALIDATOR.validate(complete)
    for content in (
        exported(anyone, study, power_logs="include"),
        exported(reader, study),
    ):
        file = document(content)
        assert "power" not in file
        assert file["left_out"] == [
            "Power logs, from which the energy of runs was computed: 2 runs"
        ]


def test_imported_power_logs_give_the_same_energy(metered, reader, stranger, study):
    content = exported(reader, study, power_logs="include")

    assert imported(stranger, content).json()["accepted"] == 3
    assert imported(stranger, content).json()["repeated"] == 3

    integrate_due(timedelta(0))
    energies = [
        list(RunEnergy.objects.filter(lab__slug=lab).values_list("mean_w", flat=True))
        for lab in ("alpha-lab", "beta-lab")
    ]
    assert energies[0] == energies[1] != []


@pytest.mark.parametrize(
    ("place", "value", "path", "field"),
    [
        (("study", "published"), "yesterday", "study", "published"),
        (("hosts", 0, "slug"), "a b", "hosts[0]", "slug"),
        (("runs", 1, "samples", 0, "unit"), "parsec", "runs[1]", "samples[0]"),
        (("runs", 1, "samples", 0, "value"), "9", "runs[1]", "samples[0].value"),
        (("runs", 0, "system"), 7, "runs[0]", "system"),
        (("runs", 0, "study"), "other", "runs[0]", "study"),
        (("runs", 0, "system", "host"), "nowhere", "runs[0]", ""),
        (("reference_system",), {"host": "nowhere"}, "reference_system", "hypervisor"),
    ],
)
def test_errors_name_entry_and_field_and_nothing_is_stored(
    stranger, file, place, value, path, field
):
    target = file
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value

    answer = imported(stranger, file)

    assert answer.status_code in {400, 422}
    body = answer.json()
    assert path in body["detail"]
    assert list(body["fields"]) == [path]
    assert not field or field in body["fields"][path]["fields"]
    assert not Study.objects.filter(lab__slug="beta-lab").exists()
    assert not Host.objects.filter(lab__slug="beta-lab").exists()


def test_a_host_with_other_facts_is_a_conflict(stranger, file, other_lab):
    Host.objects.create(lab=other_lab, slug=file["hosts"][0]["slug"], title="Another")

    answer = imported(stranger, file)

    assert answer.status_code == 409
    assert list(answer.json()["fields"]) == ["hosts[0]"]
    assert not Study.objects.filter(lab=other_lab).exists()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"format": "virtlab-study", "version": VERSION + 1}, "Update the server"),
        ({"format": "virtlab-study", "version": 1}, 'no member "study"'),
        ({}, "not a study file"),
        (b"nonsense", "Send one JSON object"),
    ],
)
def test_other_files_are_refused(api, content, expected):
    answer = imported(api, content)

    assert answer.status_code == 422
    assert expected in answer.json()["detail"]


def test_private_studies_are_exported_only_for_members(
    anyone, reader, measured, study, other_read_token
):
    update_study(study=study, visibility="private")

    assert document(exported(reader, study))["study"]["slug"] == "study"
    for token in (None, other_read_token):
        assert anyone.get("study-file/", token, study="study").status_code == 404


def test_importing_needs_the_scope_manage(anyone, upload_token, file):
    answer = anyone.post("study-file/", file, token=upload_token)

    assert answer.status_code == 403


def test_the_example_of_the_documentation_can_be_imported(api, reader):
    [example] = re.findall(
        r"```json\n(.*?)```", (DOCS / "study-files.md").read_text(), re.S
    )
    VALIDATOR.validate(json.loads(example))

    answer = imported(api, example.encode())

    assert answer.status_code == 202, answer.content
    assert Run.objects.get().status == Run.Status.PARSED


def test_published_means_keep_their_runs_and_deviation():
    case = Case(metric="boot time", parameters={"kernel": "6.1"}, unit="s")
    mean = Sample(value=3.2, summarized_runs=30, standard_deviation=0.0)

    exported_mean = sample_document(mean, case)

    assert (exported_mean["runs"], exported_mean["standard_deviation"]) == (30, 0.0)
    assert "runs" not in sample_document(Sample(value=3.2), case)


def test_too_many_machines_are_refused_before_they_fill_the_memory(api, file):
    file["hosts"] = [{"slug": f"h{number}"} for number in range(MAX_MACHINES + 1)]

    answer = imported(api, file)

    assert answer.status_code == 422
    assert '"hosts" has more than 10,000 entries' in answer.json()["detail"]


def test_a_lab_imports_one_study_at_a_time(stranger, file, other_lab):
    parameters = connection.get_connection_params() | {"cursor_factory": Cursor}
    with psycopg.connect(**parameters, autocommit=True) as other_session:
        other_session.execute(
            "SELECT pg_advisory_lock(hashtextextended(%s, 0))",
            [f"study import {other_lab.pk}"],
        )
        busy = imported(stranger, file)

    assert busy.status_code == 429
    assert busy["Retry-After"] == "30"
    assert imported(stranger, file).status_code == 202
