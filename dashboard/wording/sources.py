from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.study_sources import COPIED, DESCRIBED, TRANSCRIBED, Source
from dashboard.wording import Text

RELATIONS: Final[Mapping[str, Text]] = {
    TRANSCRIBED: gettext_lazy("Transcribed from"),
    COPIED: gettext_lazy("Copied from"),
    DESCRIBED: gettext_lazy("Described in"),
}


def relation_name(source: Source) -> str:
    return str(RELATIONS.get(source.relation, RELATIONS[DESCRIBED]))


def authors_text(source: Source) -> str:
    """Return authors and year, before the title: "Ada Lovelace (1843): "."""
    if source.authors and source.year:
        text = _("%(authors)s (%(year)s): ")
        return text % {"authors": source.authors, "year": source.year}
    return f"{source.authors}: " if source.authors else ""


def publication_text(source: Source) -> str:
    year = "" if source.authors else source.year
    parts = (source.published_in, source.institution, year)
    return "".join(f", {part}" for part in parts if part)
