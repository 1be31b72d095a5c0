"""Show waiting, running and failed background jobs, and why jobs failed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.jobs.failures import (
    STATE_CONDITIONS,
    counts_by_kind,
    failed_jobs,
    failed_jobs_of_study,
    jobs_by_subject,
    state_text,
    subject_text,
)
from benchmarks.jobs.queue import JobKind, retry_failed
from benchmarks.management import study_argument
from benchmarks.models import Job


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--kind", default="", choices=JobKind.values)
        parser.add_argument("--retry", action="store_true", help="retry failed jobs")

    def handle(self, *args: Any, **options: Any) -> None:
        jobs, failed = Job.objects.all(), failed_jobs()
        if name := options["study"]:
            study = study_argument(name)
            jobs = jobs.filter(study=study)
            failed = failed_jobs_of_study(study) | failed.filter(
                kind=JobKind.UPLOAD, study=study
            )
        if kind := options["kind"]:
            jobs, failed = jobs.filter(kind=kind), failed.filter(kind=kind)
        for row in counts_by_kind(jobs):
            self.stdout.write(
                "{kind}: {waiting:,} waiting, {running:,} running, {failed:,} failed "
                "({quarantined:,} quarantined), oldest from "
                "{oldest:%Y-%m-%d %H:%M:%S} UTC".format(**row)
            )
        for job in jobs_by_subject(
            jobs.filter(STATE_CONDITIONS["running"])
        ) + jobs_by_subject(failed):
            self.stdout.write(f"{job.kind} of {subject_text(job)}: {state_text(job)}")
        if options["retry"]:
            self.stdout.write(f"{retry_failed(failed):,} will be retried.")
