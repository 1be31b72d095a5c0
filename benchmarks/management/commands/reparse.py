"""Reparse stored uploads with the current parsers and show which samples changed."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from benchmarks.errors import BenchmarksError
from benchmarks.management import study_argument
from benchmarks.uploads import reparsing

MAX_SHOWN_CHANGES = 20


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tool", default="", help="a tool's slug or title")
        parser.add_argument("--study", default="", metavar="LAB/STUDY")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_argument(options["study"]) if options["study"] else None
        try:
            reparse = reparsing.create_reparse(study=study, tool=options["tool"])
        except BenchmarksError as error:
            raise CommandError(str(error)) from None
        columns = (TextColumn("reparsing"), BarColumn(), MofNCompleteColumn())
        console = Console(file=sys.stderr)
        with Progress(
            *columns, console=console, disable=not console.is_terminal
        ) as bar:
            task = bar.add_task("", total=reparse.total)
            for state in reparsing.run_to_end(reparse):
                bar.update(task, completed=state.done)
        self.stdout.write(
            f"{reparse.done:,} uploads reparsed: {reparse.changed:,} samples changed, "
            f"{reparse.vanished:,} vanished, {reparse.appeared:,} appeared; "
            f"{reparse.failed:,} uploads failed."
        )
        for change in reparse.changes[:MAX_SHOWN_CHANGES]:
            before, after = (
                ", ".join(f"{value:g}" for value in change[name]) or "nothing"
                for name in ("before", "after")
            )
            part = f" part {change['part']}" if change["part"] > 1 else ""
            self.stdout.write(
                f"  run {change['run']}{part}: {change['case']}: {before} -> {after}"
            )
        if (hidden_count := len(reparse.changes) - MAX_SHOWN_CHANGES) > 0:
            self.stdout.write(f"  and {hidden_count:,} more")
        for failure in reparse.failures[:MAX_SHOWN_CHANGES]:
            self.stderr.write(f"  run {failure['run']}: {failure['error']}")
