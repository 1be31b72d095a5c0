"""Delete expired data. The sweeper does this every hour."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.maintenance import retention


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        is_dry = options["dry_run"]
        counts = retention.count_expired() if is_dry else retention.clean_up()
        days = {rule.label: rule.days for rule in retention.RETENTION_RULES}
        verb = "would be deleted" if is_dry else "deleted"
        for label, n in counts.items():
            self.stdout.write(f"{n:8,} {verb}: {label} (after {days[label]} days)")
