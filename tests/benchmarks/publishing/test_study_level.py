"""Facts stated by all runs of a study, for the evidence level."""

import uuid
from datetime import UTC, datetime, timedelta

from benchmarks.models import Run
from benchmarks.publishing.study_level import assess_study


def test_one_run_without_date_is_found_among_thousands(submit, run_document, study):
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

    missing = assess_study(study).missing_facts["benchmark"]

    assert {"version", "start time"} <= set(missing)
