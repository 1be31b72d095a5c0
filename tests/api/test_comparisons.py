"""/comparisons/: cells compared with their baselines."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import yaml

from api.comparisons import ComparisonSerializer, RatioOfKindField
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.models import Efficiency, Host, Study, System
from benchmarks.studies import checking
from benchmarks.uploads import processing

DOCUMENT = Path(__file__).with_name("openapi.yaml")
NOT_SHOWN = {
    "result.measure": "it is always a speed: /energy/ answers with energies",
    "result.energy": "it is none here: /energy/ answers with energies",
    "result.ratio": "the ratio of its kind: relative_performance and so on",
    "result.ratio_kind": "which of these it is",
    "result.assessment.ratio": "the same",
    "result.assessment.half_width": "low and high say it",
    "result.ratio_range": "the ratio_range of the judgement, where no figure may stand",
    "result.assessment.interval_style": "how a page draws design and evidence level",
    "result.assessment.label": "made of verdict, direction and evidence level",
    "result.assessment.sentences": "reason_messages has them, and those of failed runs",
    "result.assessment.advice": "advice has it, and that of failed runs",
    "result.assessment.general_reasons": "reason_messages without numbers",
    "result.interval": "low and high of the judgement, where the view shows a ratio",
    "result.value_interval": "of the value, to round it by: /cells/ has n, mean and m2",
}
"""Fields of a row that the API leaves out, and why."""


def documented_fields() -> list[str]:
    """Return the fields of a row according to the saved OpenAPI document."""
    document = yaml.safe_load(DOCUMENT.read_text())
    return list(document["components"]["schemas"]["Comparison"]["properties"])


def fields_of(kind: type, before: str = "") -> Iterator[str]:
    """Yield all fields of a record; fields of nested ones are ``part.field``."""
    for name, hint in get_type_hints(kind).items():
        path = before + name
        (part,) = list(filter(_is_record, (hint, *get_args(hint)))) or [None]
        if part is None or path in NOT_SHOWN:
            yield path
        else:
            yield from fields_of(part, f"{path}.")


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


def rows(caller, **query):
    answer = caller.get("comparisons/", **query)
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


def test_guests_are_compared_with_their_machine(anyone, measured):
    native, guest = rows(anyone, study="study")

    assert guest["relative_performance"] == pytest.approx(13.08 / 52.97)
    assert (guest["value"], guest["baseline_value"]) == (13.08, 52.97)
    assert (guest["state"], native["state"]) == ("paired", "native")
    assert guest["baseline_system_id"] == native["system_id"]
    assert native["relative_performance"] is None


def test_rows_have_the_documented_fields(anyone, measured):
    row = rows(anyone)[0]

    assert set(row) == set(documented_fields())
    assert list(row) == list(ComparisonSerializer().fields)


def test_every_attribute_is_documented_or_excluded():
    fields = ComparisonSerializer().fields
    shown = {
        field.source
        for field in fields.values()
        if not isinstance(field, RatioOfKindField)
    }

    # Case and system are models, whose documented fields are listed separately.
    parts = set(fields_of(ComparisonRow)) - {"case", "system"}

    assert set(fields) == set(documented_fields())
    assert (shown & parts) | NOT_SHOWN.keys() == parts
    assert not shown & NOT_SHOWN.keys()


@pytest.mark.parametrize(
    ("state", "native", "said"),
    [
        (
            "other_parameters",
            {"parameters": {"operation": "write", "record": "64 KiB"}},
            "baseline record=64 KiB, this system record=4 KiB",
        ),
        (
            "unit_mismatch",
            {"metric": "operation rate", "unit": "1/s"},
            "baseline 1/s, this system MB/s",
        ),
    ],
)
def test_native_runs_under_other_conditions_are_not_a_baseline(
    anyone, api, run_document, xen, state, native, said
):
    sample = {
        "metric": "throughput",
        "parameters": {"operation": "write", "record": "4 KiB"},
        "unit": "MB/s",
        "value": 50.0,
    }
    iozone = partial(run_document, tool="iozone")
    guest = iozone(system=xen, samples=[sample])
    answer = api.bulk([iozone(samples=[{**sample, **native}]), guest])
    assert answer.status_code == 202
    processing.process_due_uploads()

    assert rows(anyone, state="missing") == []
    (row,) = rows(anyone, state=state)
    assert (row["verdict"], row["reason_codes"]) == ("not_assessed", [state])
    assert (row["relative_performance"], row["baseline_value"]) == (None, None)
    assert (row["comparability"], row["comparability_reason"]) == (
        "none",
        row["state_message"],
    )
    assert said in row["state_message"]


def test_other_hosts_are_not_comparable(anyone, api, run_document, xen, lab):
    beta = api.post("hosts/", {"slug": "beta", "facts": {"cores": 16}})
    assert beta.status_code == 201
    guests = [
        run_document(value, session="Monday", system={**xen, "host": "beta"})
        for value in (170.0, 171.0, 169.0, 170.5, 170.2)
    ]
    natives = [
        run_document(value, session="Monday")
        for value in (50.0, 50.2, 49.9, 50.1, 50.3)
    ]
    assert api.bulk([*natives, *guests]).status_code == 202
    processing.process_due_uploads()
    checking.check_due_studies(timedelta(0))
    native = System.objects.get(hypervisor="native")

    both = rows(anyone, study="study", baseline=native.pk)

    guest, chosen = sorted(both, key=lambda row: row["hypervisor"])
    assert (guest["comparability"], guest["state"]) == ("none", "other_host")
    assert guest["comparability_reason"] == (
        "Different hosts (beta, alpha): cores: 16 / 2."
    )
    assert (guest["verdict"], guest["reason_codes"]) == ("not_assessed", ["other_host"])
    assert guest["relative_to_reference"] == pytest.approx(3.4, rel=0.01)
    assert (chosen["comparability"], chosen["comparability_reason"]) == ("", "")


def test_another_os_limits_comparability(anyone, api, run_document, xen):
    debian = run_document(13.08, system={**xen, "guest_os": "Debian 12"})
    assert api.bulk([run_document(), debian]).status_code == 202
    processing.process_due_uploads()

    (guest,) = rows(anyone, hypervisor="xen")

    assert (guest["state"], guest["comparability"]) == ("paired", "limited")
    assert "guest Debian 12, host Ubuntu Server 9.04" in guest["comparability_reason"]
    assert guest["relative_performance"] == pytest.approx(13.08 / 52.97)


def test_rows_can_be_filtered(anyone, measured):
    assert len(rows(anyone, hypervisor="xen")) == 1
    assert len(rows(anyone, state="paired")) == 1
    assert len(rows(anyone, guest_os="Ubuntu Server 9.04", guest_bits=32)) == 2
    assert len(rows(anyone, tool="Iometer", metric="network throughput")) == 2
    assert len(rows(anyone, component="network", scenario="single")) == 2
    assert rows(anyone, component="disk") == rows(anyone, guest_bits=64) == []


def test_results_without_a_comparison_are_listed(anyone, measured):
    Efficiency.objects.all().delete()

    assert [row["state"] for row in rows(anyone, state="waiting")] == ["waiting"] * 2
    assert rows(anyone, state="paired") == []


def test_results_can_be_compared_with_any_system(anyone, measured):
    xen = System.objects.get(hypervisor="Xen")

    native, guest = rows(anyone, study="study", baseline=xen.pk)

    assert native["relative_to_reference"] == pytest.approx(52.97 / 13.08)
    assert (native["relative_performance"], native["state"]) == (None, "relative")
    assert guest["state"] == "reference"


def test_unknown_reference_systems_are_404(anyone, measured):
    answer = anyone.get("comparisons/", study="study", baseline=999)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.fixture
def measured_elsewhere(submit, run_document, lab, measured):
    """Return a function that measures ESXi in another study, also on another host."""

    def measure(host="alpha", visibility="public"):
        Study.objects.create(
            lab=lab, slug="other", title="Other", visibility=visibility
        )
        Host.objects.get_or_create(lab=lab, slug=host, defaults={"facts": {"cores": 8}})
        esxi = {"hypervisor": "VMware ESXi", "host": host}
        submit(
            run_document(50.0, study="other", system={"host": host}),
            run_document(40.0, study="other", system=esxi),
        )
        checking.check_due_studies(timedelta(0))
        return System.objects.get(hypervisor="VMware ESXi")

    return measure


@pytest.mark.parametrize("asked", [{"study": "study"}, {}])
def test_reference_systems_may_be_of_another_study(anyone, measured_elsewhere, asked):
    esxi = measured_elsewhere()

    found = rows(anyone, **asked, baseline=esxi.pk, hypervisors="xen")

    (guest,) = found
    assert guest["relative_to_reference"] == pytest.approx(13.08 / 40.0)
    assert guest["baseline_system_id"] == esxi.pk
    assert guest["comparability"] in ("full", "limited")


def test_results_of_different_machines_have_no_ratio(anyone, measured_elsewhere):
    esxi = measured_elsewhere("beta")

    (guest,) = rows(anyone, study="study", baseline=esxi.pk, hypervisors="Xen")

    assert (guest["state"], guest["comparability"]) == ("other_host", "none")
    assert (guest["relative_to_reference"], guest["low"], guest["high"]) == (
        None,
        None,
        None,
    )
    assert "Different hosts" in guest["state_message"]


def test_private_systems_of_other_labs_are_404(anyone, measured_elsewhere):
    esxi = measured_elsewhere(visibility="private")

    answer = anyone.get("comparisons/", study="study", baseline=esxi.pk)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_filters_apply_to_all_studies(anyone, measured_elsewhere):
    measured_elsewhere("beta")
    case = rows(anyone)[0]["case_id"]

    def hypervisors(**query):
        return [row["hypervisor"] for row in rows(anyone, **query)]

    assert sorted(hypervisors(hypervisors="xen, esxi")) == ["VMware ESXi", "Xen"]
    assert sorted(hypervisors(host="alpha-lab/beta")) == ["VMware ESXi", "native"]
    assert sorted(hypervisors(host="beta")) == ["VMware ESXi", "native"]
    assert hypervisors(host="no-lab/beta") == []
    assert len(rows(anyone, case=case)) == 4
    assert rows(anyone, case=case + 1) == []
    work = "network-throughput-out"
    assert sorted(hypervisors(work_class=work)) == ["VMware ESXi", "Xen"]
    assert hypervisors(work_class="disk-fsync") == []


@pytest.mark.parametrize(
    "query",
    [
        {"baseline": "xen"},
        {"host": "a/b/c"},
        {"case": "read"},
        {"work_class": "disk"},
        {"state": "good"},
        {"component": "cpu"},
        {"guest_bits": "32bit"},
        {"tool": "nosuchtool"},
    ],
)
def test_invalid_filters_are_rejected(anyone, db, query):
    answer = anyone.get("comparisons/", **query)

    assert (answer.status_code, list(answer.json()["fields"])) == (400, list(query))


def test_private_rows_are_visible_to_their_lab_only(
    anyone, reader, other_read_token, submit, run_document, private_study
):
    submit(run_document(study="secret-study"))

    assert rows(anyone) == rows(anyone, token=other_read_token) == []
    assert len(rows(reader)) == 1


def test_pages_contain_every_row_once(anyone, submit, run_document, xen):
    submit(*(run_document(system={**xen, "vcpus": count}) for count in range(1, 8)))
    whole = [row["id"] for row in rows(anyone)]

    address, found = "/api/v1/comparisons/?page_size=2", []
    while address:
        page = anyone.client.get(address).json()
        found += [row["id"] for row in page["results"]]
        address = page["next"]

    assert found == whole
    assert len(whole) == 7


def test_query_count_is_fixed(anyone, measured, django_assert_num_queries):
    with django_assert_num_queries(9):
        rows(anyone)
