"""What the rules look at: a study as it is stored."""

from benchmarks.comparing.evidence import cell_samples
from benchmarks.models import Cell
from benchmarks.studies.checking import shape_cells
from benchmarks.studies.facts import study_facts


def test_rules_the_shape_and_the_page_count_the_runs_alike(submit, run_document, study):
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
    assert facts.means == (51.0, 52.0, 53.0, 54.0, 500.0)
    assert shown == list(facts.means)
    assert stored.shape["outliers"] == [facts.means.index(500.0)]
