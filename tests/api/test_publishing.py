"""GET /publishing/: the publication level of a study."""

from benchmarks.analysis.publication_requirements import REQUIRED_FACTS
from benchmarks.models import Host, System


def test_studies_of_single_runs_are_drafts_with_reasons(anyone, measured):
    found = anyone.get("publishing/", study="study").json()

    assert (found["level"], found["rule_set"], found["cell_count"]) == ("draft", 3, 2)
    assert [cell["n"] for cell in found["cells_with_few_runs"]] == [1, 1]
    assert "turbo" in found["missing_facts"]["host"]
    assert "build" not in found["missing_facts"]["hypervisor"]


def test_precise_and_complete_studies_reach_level_lab(
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


def test_study_is_required(anyone, db):
    assert anyone.get("publishing/").status_code == 400


def test_query_count_is_fixed(anyone, measured, django_assert_num_queries):
    with django_assert_num_queries(6):
        anyone.get("publishing/", study="study")
