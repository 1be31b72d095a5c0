"""Base class and look-ups of management commands."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.models import Lab, Study


class GeneratingCommand(BaseCommand, ABC):
    """A command that writes files generated from code, or compares them (--check)."""

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
                raise CommandError(f"{path.name} is out of date. Run: make docs")
            path.write_text(text)
            self.stdout.write(f"written: {path.name}")


def lab_argument(slug: str) -> Lab:
    lab = Lab.objects.filter(slug=slug).first()
    if lab is None:
        lab_slugs = ", ".join(Lab.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f'Lab not found: "{slug}". Known labs: {lab_slugs}.')
    return lab


def study_argument(name: str) -> Study:
    """Return the study "LAB/STUDY", or raise CommandError."""
    lab, _, slug = name.partition("/")
    study = Study.objects.select_related("lab").filter(lab__slug=lab, slug=slug).first()
    if study is None:
        raise CommandError(f'Study not found: "{name}". Use the form LAB/STUDY.')
    return study
