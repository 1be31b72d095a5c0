"""`manage.py retry_quarantined`: try the runs again that could not be processed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.models import OutboxItem, Study
from benchmarks.uploads import processing


class Command(BaseCommand):
    """Lists quarantined runs with their errors, and lets them be tried again."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--list", action="store_true", help="change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        items = OutboxItem.objects.exclude(quarantined_at=None)
        if name := options["study"]:
            lab, _, slug = name.partition("/")
            study = Study.objects.filter(lab__slug=lab, slug=slug).first()
            if study is None:
                raise CommandError(f'There is no study "{name}". Name it as LAB/STUDY.')
            items = items.filter(run__study=study)
        for item in items.select_related("run__study__lab").order_by("pk"):
            place = f"{item.run.study.lab.slug}/{item.run.study.slug}"
            self.stdout.write(f"run {item.pk} of {place}: {item.error}")
        if not options["list"]:
            n = processing.retry(items)
            self.stdout.write(f"{n:,} runs will be tried again.")
