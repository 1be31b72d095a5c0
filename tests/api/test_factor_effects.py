"""/factor-effects/: which parameters changed the results of a study."""

import itertools

import pytest

ESXI = {"hypervisor": "VMware ESXi", "virtualization": "full"}
ANSWER = ["study", "lab", "scenario", "response", "results"]
RESULT = [
    "component",
    "is_component",
    "cases",
    "excluded",
    "analysis",
    "interaction_means",
]


@pytest.fixture
def factorial(submit, run_document):
    """Submit a native run and eight guests; only guest tools double the throughput."""
    documents = [run_document(50.0)]
    for at, (tools, amd_v, vcpus) in enumerate(
        itertools.product(("absent", "installed"), ("off", "on"), (1, 2))
    ):
        options = {"guest_tools": tools, "hw_virt": amd_v}
        value = (10 if tools == "absent" else 20) * (1 + at % 3 / 100)
        system = {**ESXI, "vcpus": vcpus, "options": options}
        documents.append(run_document(value, system=system))
    return submit(*documents)


def found(caller, **query):
    answer = caller.get("factor-effects/", **{"study": "study", **query})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_components_and_benchmarks_are_analyzed(anyone, factorial):
    answer = found(anyone)

    whole, case = answer["results"]
    assert list(answer) == ANSWER
    assert list(whole) == RESULT
    assert (answer["lab"], answer["study"]) == ("alpha-lab", "study")
    assert (answer["scenario"], answer["response"]) == (
        "single",
        "relative_performance",
    )
    assert (whole["is_component"], case["is_component"]) == (True, False)
    assert [row["case"] for row in case["cases"]] == ["Network throughput · write"]


def test_effects_are_ranked(anyone, factorial):
    effects = found(anyone)["results"][0]["analysis"]["effects"]

    first, *others = effects
    assert first["factors"] == [["guest_tools"]]
    assert (first["levels"], first["reference"]) == (["installed"], ["absent"])
    assert first["ratio"] == pytest.approx(2, rel=0.02)
    assert first["strength"] == "clear"
    assert first["simultaneous_low"] < first["low"] < first["ratio"] < first["high"]
    assert {row["strength"] for row in others} == {"none"}


def test_source_of_the_error_is_stated(anyone, factorial):
    effects = found(anyone)["results"][1]["analysis"]

    assert (effects["error_source"], effects["cell_count"]) == ("contrasts", 8)
    assert effects["lenth"]["contrasts"] == 7
    assert effects["lenth"]["pse"] < effects["lenth"]["me"]
    assert effects["scatter"] is None
    assert len(effects["half_normal_points"]) == 7
    assert effects["half_normal_points"][0]["terms"] == [[["guest_tools"]]]


def test_design_is_returned(anyone, factorial):
    effects = found(anyone)["results"][1]["analysis"]

    assert effects["factors"][1] == {"names": ["hw_virt"], "levels": ["off", "on"]}
    assert effects["combinations"][0] == {
        "levels": ["1", "off", "absent"],
        "count": 1,
    }
    assert len(effects["combinations"]) == 8


def test_repeated_runs_give_intervals_and_adjusted_p_values(
    anyone, submit, run_document, xen
):
    systems = [{**xen, "vcpus": vcpus} for vcpus in (1, 2)]
    for system, values in zip(systems, [(10, 11, 12), (20, 21, 22)], strict=True):
        submit(*(run_document(value, system=system) for value in values))

    effects = found(anyone, response="value")["results"][0]["analysis"]

    (effect,) = effects["effects"]
    assert (effects["error_source"], effects["scatter"]["df"]) == ("replicated", 4)
    assert effect["ratio"] == pytest.approx(21 / 11)
    assert effect["p_value"] < 0.01
    assert effect["simultaneous_low"] == pytest.approx(effect["low"])


def test_factors_that_change_together_are_one_factor(anyone, submit, run_document, xen):
    sizes = [{"vcpus": 1, "memory_bytes": 2**30}, {"vcpus": 2, "memory_bytes": 2**31}]
    submit(*(run_document(9.0, system={**xen, **size}) for size in sizes))

    effects = found(anyone)["results"][0]["analysis"]

    (effect,) = effects["effects"]
    assert effect["factors"] == [["vcpus", "memory_bytes"]]
    assert (effects["error_source"], effect["strength"]) == (
        "not_assessed",
        "not_assessed",
    )
    assert (effect["low"], effect["p_value"]) == (None, None)


def test_analyses_can_be_filtered(anyone, factorial):
    assert len(found(anyone, component="network", scenario="single")["results"]) == 2
    assert found(anyone, component="disk")["results"] == []
    assert found(anyone, scenario="parallel")["results"] == []
    assert found(anyone, response="value")["response"] == "value"


def test_studies_of_other_labs_are_named_with_their_lab(anyone, factorial):
    assert found(anyone, study="alpha-lab/study") == found(anyone)


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ({}, "study"),
        ({"study": "study", "component": "cpu"}, "component"),
        ({"study": "study", "scenario": "alone"}, "scenario"),
        ({"study": "study", "response": "speed"}, "response"),
        ({"study": "study", "page_size": "5"}, "page_size"),
        ({"study": "a b"}, "study"),
    ],
)
def test_invalid_queries_are_rejected(anyone, factorial, query, wrong):
    answer = anyone.get("factor-effects/", **query)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert list(answer.json()["fields"]) == [wrong]


def test_unknown_studies_are_404(anyone, db):
    answer = anyone.get("factor-effects/", study="nowhere")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_post_is_not_allowed(api, factorial):
    assert api.post("factor-effects/", {}).status_code == 405


def test_query_count_is_fixed(anyone, factorial, django_assert_num_queries):
    with django_assert_num_queries(6):
        found(anyone)
