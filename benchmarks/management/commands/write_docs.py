"""`manage.py write_docs`: write the generated pages of docs/, or check them."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.analysis.plausibility.pages import flags_page
from benchmarks.tools.catalogue import as_markdown


class Command(BaseCommand):
    """A page that is made from the code cannot say something else than the code."""

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="only compare")

    def handle(self, *args: Any, **options: Any) -> None:
        for path, text in generated_pages().items():
            if path.exists() and path.read_text() == text:
                continue
            if options["check"]:
                raise CommandError(f"{path.name} is not current. Run: make docs")
            path.write_text(text)
            self.stdout.write(f"written: {path.name}")


def generated_pages() -> dict[Path, str]:
    """Return each generated page with its text."""
    docs = Path(settings.BASE_DIR) / "docs"
    return {docs / "tools.md": as_markdown(), docs / "flags.md": flags_page()}
