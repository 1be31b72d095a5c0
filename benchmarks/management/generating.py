"""Files that are made from the code: written, or checked to be what it would write."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class GeneratingCommand(BaseCommand, ABC):
    """What is made from the code cannot say something else than the code."""

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
