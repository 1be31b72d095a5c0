"""Import of study files; `benchmarks/parsing/study_file.py` reads the format."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils.module_loading import import_string

from benchmarks.models import Agent, Study


@dataclass(frozen=True)
class ImportedStudy:
    """Result of an import; ``repeated`` entries were stored before."""

    study: Study
    is_new: bool
    accepted: int
    repeated: int


def import_study_file(agent: Agent, content: bytes) -> ImportedStudy:
    """Store everything or nothing.

    Raises InvalidError, whose fields name the wrong entries.
    """
    # The API validates documents; an import here would reverse the dependency.
    store: Callable[[Agent, bytes], ImportedStudy] = import_string(
        settings.STUDY_FILE_IMPORTER
    )
    return store(agent, content)
