"""`manage.py reparse`: read history again and say which samples changed."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from benchmarks.errors import BenchmarksError
from benchmarks.management import find_study
from benchmarks.uploads import rereading

SHOWN = 20


class Command(BaseCommand):
    """Reads all uploads, or those of one tool or study, with today's parsers."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tool", default="", help="a tool's slug or title")
        parser.add_argument("--study", default="", metavar="LAB/STUDY")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        try:
            reread = rereading.begin_reread(study=study, tool=options["tool"])
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        columns = (TextColumn("reading again"), BarColumn(), MofNCompleteColumn())
        console = Console(file=sys.stderr)
        with Progress(
            *columns, console=console, disable=not console.is_terminal
        ) as bar:
            task = bar.add_task("", total=reread.total)
            for state in rereading.steps(reread):
                bar.update(task, completed=state.done)
        self.stdout.write(
            f"{reread.done:,} uploads read again: {reread.changed:,} samples changed, "
            f"{reread.vanished:,} vanished, {reread.appeared:,} appeared; "
            f"{reread.failed:,} uploads failed."
        )
        for change in reread.changes[:SHOWN]:
            before, after = (
                ", ".join(f"{value:g}" for value in change[name]) or "nothing"
                for name in ("before", "after")
            )
            part = f" part {change['part']}" if change["part"] > 1 else ""
            self.stdout.write(
                f"  run {change['run']}{part}: {change['case']}: {before} -> {after}"
            )
        if (rest := len(reread.changes) - SHOWN) > 0:
            self.stdout.write(f"  and {rest:,} more")
        for failure in reread.failures[:SHOWN]:
            self.stderr.write(f"  run {failure['run']}: {failure['error']}")
