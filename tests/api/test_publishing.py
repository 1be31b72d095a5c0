"""GET /publishing/: what a study may be published as."""

from benchmarks.analysis.publication_level import REQUIRED_FACTS
from benchmarks.models import Host, System


def test_a_study_of_single_runs_is_a_draft_and_says_why(anyone, measured):
    found = anyone.get("publishing/", study="study").json()

    assert (found["level"], found["rule_set"], found["cell_count"]) == ("draft", 2, 2)
    assert [cell["n"] for cell in found["cells_with_few_runs"]] == [1, 1]
    assert "turbo" in found["missing_facts"]["host"]
    assert "build" not in found["missing_facts"]["hypervisor"]


def test_five_quiet_runs_that_state_everything_are_a_labs(
    anyone, submit, run_document, xen, study
):
    stated = {
        thing.facts[0]: "stated"
        for things in REQUIRED_FACTS.values()
        for thing in things
    }
    study.author = "Alice"
    study.save()
    said = {
        "facts": stated,
        "tool_version": "2006.07.27",
        "started_at": "2026-03-14T09:26:53+01:00",
    }
    sized = {**xen, "vcpus": 1, "memory_bytes": 2**30}
    for value in (50.0, 50.1, 50.2, 49.9, 50.0):
        submit(run_document(value, **said), run_document(value, system=sized, **said))
    Host.objects.update(facts=stated)

    found = anyone.get("publishing/", study="study").json()

    assert (found["level"], found["missing_facts"]) == ("lab", {})
    assert System.objects.count() == 2


def test_it_needs_a_study(anyone, db):
    assert anyone.get("publishing/").status_code == 400


def test_it_asks_a_fixed_number_of_times(anyone, measured, django_assert_num_queries):
    with django_assert_num_queries(6):
        anyone.get("publishing/", study="study")
