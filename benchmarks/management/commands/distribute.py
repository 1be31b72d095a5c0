"""`manage.py distribute`: spread the large tables over a Citus cluster, by lab."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.keeping.distribution import SHARDS, DistributionError, distribute
from benchmarks.row_security import as_owner


class Command(BaseCommand):
    """Distributes what is not distributed yet, of an empty or a filled database."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be done"
        )
        parser.add_argument(
            "--shards",
            type=int,
            default=SHARDS,
            help="pieces of each table: some for each worker there may ever be",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["shards"] < 1:
            raise CommandError("--shards takes a number from 1 on.")
        try:
            with as_owner():
                steps = distribute(
                    shards=options["shards"],
                    dry_run=options["dry_run"],
                    say=self.stdout.write,
                )
        except DistributionError as error:
            raise CommandError(str(error)) from None
        if not steps:
            self.stdout.write("The large tables are distributed: nothing to do.")
