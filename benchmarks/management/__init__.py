"""Base class and look-ups of management commands."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.models import Lab, Study


class GeneratingCommand(BaseCommand, ABC):
    """A command that writes files generated from the code, or only compares them."""

    requires_system_checks = ()

    @abstractmethod
    def files(self) -> dict[Path, str]:
        """Return each file with its text."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="only compare")

    def handle(self, *args: Any, **options: Any) -> None:
        for path, text in self.files().items():
            if path.exists() and path.read_text() == text:
                continue
            if options["check"]:
                raise CommandError(f"{path.name} is not current. Run: make docs")
            path.write_text(text)
            self.stdout.write(f"written: {path.name}")


def find_lab(slug: str) -> Lab:
    """Return a lab, or name the labs that exist."""
    lab = Lab.objects.filter(slug=slug).first()
    if lab is None:
        known = ", ".join(Lab.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f'There is no lab "{slug}". The labs are: {known}.')
    return lab


def find_study(name: str) -> Study:
    """Return the study of LAB/STUDY."""
    lab, _, slug = name.partition("/")
    study = Study.objects.select_related("lab").filter(lab__slug=lab, slug=slug).first()
    if study is None:
        raise CommandError(f'There is no study "{name}". Name it as LAB/STUDY.')
    return study
