"""Check this installation and show problems with their solutions."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.maintenance.doctor import diagnose


class Command(BaseCommand):
    """The command `doctor`; its exit code is 1 for critical problems."""

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="also show passed checks"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        findings = diagnose()
        wrong = [finding for finding in findings if finding.problem]
        for finding in findings:
            if finding.problem:
                label = "ERROR" if finding.is_critical else "warn"
                self.stdout.write(f"{label:6}{finding.check}: {finding.problem}")
            elif options["all"]:
                self.stdout.write(f"{'ok':6}{finding.check}")
        critical = sum(finding.is_critical for finding in wrong)
        self.stdout.write(
            f"{len(findings)} checks, {len(wrong)} problems, {critical} critical."
        )
        if critical:
            sys.exit(1)
