"""Import bundles: results of agents without a network connection."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.errors import BenchmarksError
from benchmarks.uploads.bundles import import_bundle


class Command(BaseCommand):
    """The command `import_bundle`; runs go to the lab of the token that signed them."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        refused = 0
        for path in options["files"]:
            try:
                packed = path.read_bytes()
                done = import_bundle(content=packed, lab=None, actor="manage.py")
            except OSError as error:
                refused += 1
                self.stderr.write(f"{path}: {error.strerror}")
            except BenchmarksError as error:
                refused += 1
                self.stderr.write(f"{path}: {error}")
            else:
                counts = done.counts
                self.stdout.write(
                    f"{path}: {counts.accepted} new, "
                    f"{counts.repeated} stored before, "
                    f"{counts.hosts} hosts registered (lab {done.token.lab.slug}, "
                    f"agent {done.token.agent})"
                )
        if refused:
            raise CommandError(
                f"{refused} of {len(options['files'])} files were not imported."
            )
