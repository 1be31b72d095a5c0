"""`manage.py tidy`: delete what is over; the sweeper does it once an hour."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.keeping import retention


class Command(BaseCommand):
    """Sign-ins, reports, invitations, failed publishing, rereads and tokens."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        is_dry = options["dry_run"]
        counts = retention.counts() if is_dry else retention.tidy()
        kept = {rule.what: rule.days for rule in retention.RULES}
        verb = "would go" if is_dry else "deleted"
        for what, n in counts.items():
            self.stdout.write(f"{n:8,} {verb}: {what} (after {kept[what]} days)")
