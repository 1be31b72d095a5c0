"""Distribute the large tables over a Citus cluster, by lab."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.maintenance.table_distribution import (
    SHARDS,
    DistributionError,
    distribute,
)
from benchmarks.rls_policies import as_owner


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="only show what would be done"
        )
        parser.add_argument(
            "--shards",
            type=int,
            default=SHARDS,
            help="number of shards of each table, several times the largest number of "
            "workers that you expect",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["shards"] < 1:
            raise CommandError("--shards must be at least 1.")
        try:
            with as_owner():
                steps = distribute(
                    shards=options["shards"],
                    dry_run=options["dry_run"],
                    report=self.stdout.write,
                )
        except DistributionError as error:
            raise CommandError(str(error)) from None
        if not steps:
            self.stdout.write(
                "Nothing to do: the large tables are already distributed."
            )
