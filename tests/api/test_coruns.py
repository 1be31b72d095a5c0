"""GET /coruns/: what several VMs did together."""

import pytest

from benchmarks.studies import checking


@pytest.fixture
def together(submit, run_document, xen):
    """Two VMs with a printed sum that is not theirs."""
    shared = {"system": xen, "scenario": "parallel", "vms": 2}
    submit(
        run_document(10.0, slot="1", **shared),
        run_document(20.0, slot="2", **shared),
        run_document(33.0, slot="sum", **shared),
        run_document(25.0, system=xen),
    )


def test_it_shows_slots_figures_and_the_doubtful_sum(anyone, together):
    body = anyone.get("coruns/", study="study").json()

    (corun,) = body["results"]
    assert [slot["value"] for slot in corun["slots"]] == [10, 20]
    assert corun["printed"] == {"sum": 33}
    assert corun["statistics"]["sum"] == 30
    assert corun["statistics"]["scaling"] == 1.2
    assert corun["statistics"]["sum_check"]["difference"] == 3
    assert corun["statistics"]["target"] is None
    assert [point["vm_count"] for point in body["curves"][0]["points"]] == [1, 2]


def test_of_a_slot_of_two_speeds_nothing_is_made(
    anyone, submit, run_document, xen, study
):
    shared = {"system": xen, "scenario": "parallel", "vms": 2}
    for at, rate in enumerate((50, 51, 50, 100, 101, 100, 51)):
        together = {**shared, "corun": f"together {at}"}
        submit(
            run_document(rate, slot="1", **together),
            run_document(40, slot="2", **together),
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
        "No single value describes VM 1, so nothing is derived from it."
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
def test_it_can_be_narrowed(anyone, together, filters, count):
    answer = anyone.get("coruns/", study="study", **filters)

    assert len(answer.json()["results"]) == count


@pytest.mark.parametrize(
    "query",
    [{}, {"study": "study", "scenario": "single"}, {"study": "study", "x": 1}],
)
def test_a_wrong_question_is_refused(anyone, study, query):
    assert anyone.get("coruns/", **query).status_code == 400


def test_its_queries_are_fixed(anyone, together, django_assert_num_queries):
    with django_assert_num_queries(8):
        anyone.get("coruns/", study="study")
