"""`manage.py retry_stuck`: try again what failed in the background."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.models import Review, Study, UnfinishedWork
from benchmarks.publishing.jobs import MOST_ATTEMPTS
from benchmarks.publishing.reviews import failed_reviews, retry_reviews
from benchmarks.unattended.attempts import retry
from benchmarks.unattended.lists import failed_work, work_of

REVIEW = "review"


class Command(BaseCommand):
    """Lists checks, energies, plans, versions and reviews that failed; tries again."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = [*UnfinishedWork.Kind.values, REVIEW]
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--kind", default="", choices=kinds)
        parser.add_argument("--list", action="store_true", help="change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = failed_work()
        if name := options["study"]:
            lab, _, slug = name.partition("/")
            study = Study.objects.filter(lab__slug=lab, slug=slug).first()
            if study is None:
                raise CommandError(f'There is no study "{name}". Name it as LAB/STUDY.')
            rows = work_of(study)
        if kind := options["kind"]:
            rows = rows.filter(kind=kind)
        places = ("lab", "study", "host", "plan", "job__study")
        for row in rows.select_related(*places):
            self.stdout.write(_line(row))
        # A review is of many studies: of one alone nobody asks for it.
        are_reviews = not name and kind in ("", REVIEW)
        if are_reviews:
            for review in failed_reviews().select_related("lab"):
                self.stdout.write(_review_line(review))
        if not options["list"]:
            count = retry(rows.order_by()) + (retry_reviews() if are_reviews else 0)
            self.stdout.write(f"{count:,} will be tried again.")


def _review_line(review: Review) -> str:
    is_aside = review.attempts >= MOST_ATTEMPTS
    when = "set aside" if is_aside else "tried again soon"
    return (
        f"{REVIEW} {review.pk} of {review.lab.slug}: begun {review.attempts:,} times, "
        f"{when}: the log of the workers says why"
    )


def _line(row: UnfinishedWork) -> str:
    if row.host is not None:
        what = f"host {row.host.slug}"
    elif row.plan is not None:
        what = f"plan {row.plan_id}"
    elif row.job is not None:
        what = f"study {row.job.study.slug}"
    else:
        what = f"study {row.study.slug}" if row.study is not None else "a study"
    if row.quarantined_at is not None:
        when = f"set aside at {row.quarantined_at:%Y-%m-%d %H:%M:%S} UTC"
    else:
        when = f"next at {row.next_at:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"{row.kind} of {what} of {row.lab.slug}: failed {row.failures:,} times, "
        f"{when}: {row.error}"
    )
