"""/cases/: metrics with their parameters."""

import pytest

from benchmarks.models import Case


def test_measured_benchmarks_are_listed(anyone, measured):
    (case,) = anyone.get("cases/").json()["results"]

    assert case == {
        "id": Case.objects.get().pk,
        "url": f"http://testserver/api/v1/cases/{case['id']}/",
        "tool": "iometer",
        "metric": "network throughput",
        "parameters": {"operation": "write"},
        "unit": "MB/s",
        "better": "higher",
        "component": "network",
        "kind": "speed",
        "role": "test",
        "work_class": "network-throughput-out",
        "label": Case.objects.get().label,
    }
    assert anyone.get(f"cases/{case['id']}/").json() == case


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"tool": "Iometer"}, 1),
        ({"tool": "linpack"}, 0),
        ({"metric": "network throughput"}, 1),
        ({"component": "CPU"}, 0),
        ({"study": "study"}, 1),
    ],
)
def test_benchmarks_can_be_filtered(anyone, measured, query, number):
    assert len(anyone.get("cases/", **query).json()["results"]) == number


def test_studies_list_only_their_own_benchmarks(anyone, measured, lab, study):
    study.pk, study.slug = None, "empty"
    study.save()

    assert anyone.get("cases/", study="empty").json()["results"] == []
