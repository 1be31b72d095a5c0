"""GET /coruns/: results of several VMs that ran at the same time."""

import pytest

from benchmarks.studies import checking


@pytest.fixture
def two_vms(submit, run_document, xen):
    """Submit the results of two VMs and a published sum that contradicts them."""
    shared = {"system": xen, "scenario": "parallel", "vms": 2}
    submit(
        run_document(10.0, slot="1", **shared),
        run_document(20.0, slot="2", **shared),
        run_document(33.0, slot="sum", **shared),
        run_document(25.0, system=xen),
    )


def test_coruns_have_slots_statistics_and_the_checked_sum(anyone, two_vms):
    body = anyone.get("coruns/", study="study").json()

    (corun,) = body["results"]
    assert [slot["value"] for slot in corun["slots"]] == [10, 20]
    assert corun["printed"] == {"sum": 33}
    assert corun["statistics"]["sum"] == 30
    assert corun["statistics"]["scaling"] == 1.2
    assert corun["statistics"]["sum_check"]["difference"] == 3
    assert corun["statistics"]["target"] is None
    assert [point["vm_count"] for point in body["curves"][0]["points"]] == [1, 2]


def test_bimodal_slots_have_no_statistics(anyone, submit, run_document, xen, study):
    shared = {"system": xen, "scenario": "parallel", "vms": 2}
    for at, rate in enumerate((50, 51, 50, 100, 101, 100, 51)):
        two_vms = {**shared, "corun": f"together {at}"}
        submit(
            run_document(rate, slot="1", **two_vms),
            run_document(40, slot="2", **two_vms),
        )
    checking.check_study(study)

    body = anyone.get("coruns/", study="study").json()
    (corun,) = body["results"]
    doubted, steady = corun["slots"]

    assert (doubted["value"], doubted["shape_codes"]) == (None, ["bimodal"])
    assert (steady["value"], steady["shape_codes"]) == (40, [])
    figures = corun["statistics"]
    assert {figures[name] for name in ("sum", "mean", "maximum", "jain")} == {None}
    assert figures["reasons"] == [
        "No single value describes VM 1, so nothing is calculated from it."
    ]
    assert body["curves"] == []


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"component": "network"}, 1),
        ({"component": "disk"}, 0),
        ({"tool": "Iometer"}, 1),
        ({"tool": "linpack"}, 0),
        ({"scenario": "parallel"}, 1),
        ({"scenario": "inter-vm"}, 0),
    ],
)
def test_coruns_can_be_filtered(anyone, two_vms, filters, count):
    answer = anyone.get("coruns/", study="study", **filters)

    assert len(answer.json()["results"]) == count


@pytest.mark.parametrize(
    "query",
    [{}, {"study": "study", "scenario": "single"}, {"study": "study", "x": 1}],
)
def test_invalid_queries_are_rejected(anyone, study, query):
    assert anyone.get("coruns/", **query).status_code == 400


def test_query_count_is_fixed(anyone, two_vms, django_assert_num_queries):
    with django_assert_num_queries(8):
        anyone.get("coruns/", study="study")
