"""Write the public pages as a static site, which any web server shows."""

import time
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.site_export.export import ExportError, Progress, export_site

REPORT_EVERY_S: Final = 10
SHOWN_MISSING: Final = 10


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="new, or an earlier export")
        parser.add_argument("--study", default="", help="only this study: lab/study")
        parser.add_argument(
            "--url",
            default=settings.SITE_URL or "http://127.0.0.1:8000",
            help="the address of this server, to which pages of the copy refer",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        last_report = time.monotonic()

        def report(progress: Progress) -> None:
            nonlocal last_report
            if time.monotonic() - last_report > REPORT_EVERY_S:
                last_report = time.monotonic()
                self.stdout.write(f"{progress.done} of {progress.known} so far")

        folder = options["folder"]
        try:
            progress = export_site(folder, options["study"], options["url"], report)
        except ExportError as error:
            raise CommandError(str(error)) from error
        for url in progress.missing[:SHOWN_MISSING]:
            self.stdout.write(f"not exported, because it was not found: {url}")
        self.stdout.write(f"{progress.done} pages and files in {folder}")
