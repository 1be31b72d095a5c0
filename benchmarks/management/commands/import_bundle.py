"""`manage.py import_bundle FILE...`: take what agents without a network measured."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.errors import BenchmarksError
from benchmarks.uploads.bundles import import_bundle


class Command(BaseCommand):
    """The lab is that of the token which signed a bundle. Twice changes nothing."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        refused = 0
        for path in options["files"]:
            try:
                packed = path.read_bytes()
                done = import_bundle(packed=packed, lab=None, by="manage.py")
            except OSError as error:
                refused += 1
                self.stderr.write(f"{path}: {error.strerror}")
            except BenchmarksError as error:
                refused += 1
                self.stderr.write(f"{path}: {error}")
            else:
                counts = done.counts
                self.stdout.write(
                    f"{path}: {counts.accepted} new, {counts.repeated} known, "
                    f"{counts.hosts} machines registered; {done.token.lab.slug}, "
                    f"agent {done.token.agent}"
                )
        if refused:
            raise CommandError(f"{refused} of {len(options['files'])} were refused.")
