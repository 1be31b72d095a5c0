"""What a study states, asked of all its runs."""

import uuid
from datetime import UTC, datetime, timedelta

from benchmarks.models import Run
from benchmarks.publishing.versions import study_assessment


def test_one_undated_run_is_seen_behind_thousands_without_a_version(
    submit, run_document, study
):
    submit(run_document(tool_version="2006.07.27"))
    undated = Run.objects.get()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    Run.objects.bulk_create(
        Run(
            lab=undated.lab,
            study=study,
            system=undated.system,
            agent=undated.agent,
            key=uuid.uuid4(),
            tool="iometer",
            scenario="single",
            status=Run.Status.PARSED,
            started_at=begin + timedelta(minutes=minute),
        )
        for minute in range(3000)
    )

    missing = study_assessment(study).undisclosed["benchmark"]

    assert {"version", "when"} <= set(missing)
