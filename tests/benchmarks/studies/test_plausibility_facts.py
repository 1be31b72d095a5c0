"""Facts of a study for the plausibility rules."""

from functools import partial

import pytest

from benchmarks.comparison.cell_details import cell_samples
from benchmarks.models import Cell
from benchmarks.studies import plausibility_facts as module
from benchmarks.studies.checking import shape_cells
from benchmarks.studies.plausibility_facts import study_facts
from benchmarks.studies.sessions import derive_study_sessions


def test_rules_shape_and_page_use_the_same_runs(submit, run_document, study):
    starts = [f"2026-01-0{day}T12:00:00Z" for day in (3, 1, 4, 2)]
    submit(
        run_document(500.0),
        *(
            run_document(value, started_at=start)
            for value, start in zip((53.0, 51.0, 54.0, 52.0), starts, strict=True)
        ),
    )

    shape_cells(study)

    [facts] = study_facts(study).cells
    stored = Cell.objects.get()
    shown = [value for run in cell_samples(stored).runs for value in run.values]
    assert facts.run_means == (51.0, 52.0, 53.0, 54.0, 500.0)
    assert shown == list(facts.run_means)
    assert stored.shape["outliers"] == [facts.run_means.index(500.0)]


@pytest.fixture
def meanwhile(monkeypatch):
    """Run an action just before a function of the module is called."""

    def before(name, act):
        function = getattr(module, name)

        def do(*args):
            monkeypatch.setattr(module, name, function)
            act()
            return function(*args)

        monkeypatch.setattr(module, name, do)

    return before


@pytest.mark.parametrize("name", ["run_means", "_cell_fact", "_run_facts"])
def test_runs_stored_while_reading_facts_are_ignored(
    submit, run_document, study, meanwhile, name
):
    submit(run_document(50.0))
    sample = {**run_document()["samples"][0], "parameters": {"operation": "read"}}
    meanwhile(name, partial(submit, run_document(samples=[sample])))

    facts = study_facts(study)

    assert [cell.mean for cell in facts.cells] == [50.0]
    assert [sample.value for run in facts.runs for sample in run.samples] == [50.0]
    assert len(facts.runs) == 1
    repeated = study_facts(study)
    assert (len(repeated.cells), len(repeated.runs)) == (2, 2)


def test_run_facts_contain_the_session(submit, run_document, study):
    starts = ("2026-01-03T12:00:00Z", "2026-01-05T12:00:00Z")
    submit(*(run_document(50.0, started_at=start) for start in starts))
    submit(run_document(51.0))
    derive_study_sessions(study)

    [facts] = study_facts(study).cells

    assert facts.session_names[:2] == ("2026-01-03 12:00", "2026-01-05 12:00")
    assert facts.session_names[2] == ""
