"""`manage.py recompute`: work out all results from their samples, and compare."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.management.lookup import find_study
from benchmarks.models import Study
from benchmarks.uploads.recomputing import recompute

SHOWN = 20


class Command(BaseCommand):
    """Says which run means, cells and efficiencies are not what their samples say."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", default="", metavar="LAB/STUDY")
        parser.add_argument("--repair", action="store_true", help="store what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        studies = (
            [find_study(options["study"])]
            if options["study"]
            else list(Study.objects.select_related("lab").order_by("pk"))
        )
        differing = 0
        for study in studies:
            lines = recompute(study, repair=options["repair"])
            differing += len(lines)
            for line in lines[:SHOWN]:
                self.stdout.write(f"{study.lab.slug}/{study.slug}: {line}")
        count = len(studies)
        if differing and not options["repair"]:
            raise CommandError(
                f"{differing:,} results of {count:,} studies are not what their "
                "samples say. --repair stores what they say."
            )
        said = f"{differing:,} results repaired" if differing else "all as they should"
        self.stdout.write(f"{count:,} studies worked out again: {said}.")
