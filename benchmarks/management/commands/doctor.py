"""`manage.py doctor`: what is wrong with this installation, and what to do."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.keeping.doctor import examine


class Command(BaseCommand):
    """Looks at settings, servers, clocks, disk, indexes, stuck work and backups.

    Ends with 1 where something is grave.
    """

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="what is well, too")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = examine()
        wrong = [finding for finding in findings if finding.problem]
        for finding in findings:
            if finding.problem:
                mark = "GRAVE" if finding.grave else "note"
                self.stdout.write(f"{mark:6}{finding.what}: {finding.problem}")
            elif options["all"]:
                self.stdout.write(f"{'well':6}{finding.what}")
        grave = sum(finding.grave for finding in wrong)
        self.stdout.write(
            f"{len(findings)} things looked at, {len(wrong)} to look after, "
            f"{grave} grave."
        )
        if grave:
            sys.exit(1)
