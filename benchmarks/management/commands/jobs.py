"""`manage.py jobs`: what waits in the background, who has it, why it failed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.management import find_study
from benchmarks.models import Job
from benchmarks.unattended.lists import (
    STATES,
    by_subject,
    counts_by_kind,
    failed_work,
    state_text,
    subject_text,
    work_of,
)
from benchmarks.unattended.queue import Kind, retry
from benchmarks.uploads import processing  # noqa: F401  # registers uploads


class Command(BaseCommand):
    """Counts the jobs of each kind; lists those that run, and where, or failed."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--kind", default="", choices=Kind.values)
        parser.add_argument(
            "--retry", action="store_true", help="try again what failed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        jobs, failed = Job.objects.all(), failed_work()
        if name := options["study"]:
            study = find_study(name)
            jobs = jobs.filter(study=study)
            failed = work_of(study) | failed.filter(kind=Kind.UPLOAD, study=study)
        if kind := options["kind"]:
            jobs, failed = jobs.filter(kind=kind), failed.filter(kind=kind)
        for row in counts_by_kind(jobs):
            self.stdout.write(
                "{kind}: {waiting:,} waiting, {running:,} running, {failed:,} failed "
                "({quarantined:,} quarantined), the oldest since "
                "{oldest:%Y-%m-%d %H:%M:%S} UTC".format(**row)
            )
        for job in by_subject(jobs.filter(STATES["running"])) + by_subject(failed):
            self.stdout.write(f"{job.kind} of {subject_text(job)}: {state_text(job)}")
        if options["retry"]:
            self.stdout.write(f"{retry(failed):,} will be tried again.")
