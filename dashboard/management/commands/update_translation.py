"""Start or update the translation into a language.

Messages that were removed or changed lose their translation. Prints the problems.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.management.commands.write_messages import catalog_text

LOCALE_FOLDER: Final = Path(settings.BASE_DIR) / "locale"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
COMPLETE_FROM: Final = 0.98
"""Share of translated messages from which pages offer a language."""
PYTHON_PLACEHOLDER = re.compile(r"%\(\w+\)[^\W\d_]")
PLACEHOLDER = re.compile(rf"{PYTHON_PLACEHOLDER.pattern}|\{{[^{{}}]*\}}|</?\w+")


class Command(BaseCommand):
    """Write locale/LANGUAGE/LC_MESSAGES/django.po and django.mo."""

    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("language", help="such as de")

    def handle(self, *args: Any, **options: Any) -> None:
        language = options["language"]
        catalog = updated_catalog(language)
        problems = list(catalog_problems(catalog))
        if problems:
            raise CommandError("\n".join(problems))
        write_catalog(catalog, catalog_path(language))
        self.stdout.write(f"{language}: {completeness(catalog):.1%} translated")


def catalog_path(language: str) -> Path:
    return LOCALE_FOLDER / language / "LC_MESSAGES" / "django.po"


def read_catalog(path: Path, language: str | None = None) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated_catalog(language: str) -> Catalog:
    path = catalog_path(language)
    stored = read_catalog(path, language) if path.exists() else Catalog(language)
    catalog = Catalog(
        language,
        project="Virtlab",
        fuzzy=False,
        header_comment=f"# Messages of Virtlab in {stored.locale.english_name}. "
        f"Updated by `make messages LANGUAGE={language}`.",
    )
    for message in read_catalog(LOCALE_FOLDER / "django.pot"):
        if message.id:
            known = stored.get(message.id, message.context)
            catalog.add(
                message.id,
                known.string if known and not known.fuzzy else "",
                flags=message.flags - {"fuzzy"},
                auto_comments=message.auto_comments,
                context=message.context,
            )
    return catalog


def write_catalog(catalog: Catalog, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(catalog_text(catalog))
    path.with_suffix(".mo").write_bytes(compiled(catalog))


def compiled(catalog: Catalog) -> bytes:
    compact = Catalog(
        catalog.locale, creation_date=EPOCH, revision_date=EPOCH, fuzzy=False
    )
    for message in catalog:
        if message.id and is_translated(message):
            compact.add(message.id, message.string, context=message.context)
    written = BytesIO()
    write_mo(written, compact)
    return written.getvalue()


def completeness(catalog: Catalog) -> float:
    states = [is_translated(message) for message in catalog if message.id]
    return sum(states) / len(states)


def is_translated(message: Message) -> bool:
    strings = _forms(message.string)
    return bool(strings) and all(strings)


def catalog_problems(catalog: Catalog) -> Iterator[str]:
    for message in catalog:
        if not message.id or not any(_forms(message.string)):
            continue
        originals, strings = _forms(message.id), _forms(message.string)
        if message.fuzzy:
            yield f"{originals[0]!r}: fuzzy"
        if not all(strings) or len(strings) != (
            catalog.num_plurals if message.pluralizable else 1
        ):
            yield f"{originals[0]!r}: needs all {catalog.num_plurals} plural forms"
        wanted = _placeholders(originals[-1])
        allowed = wanted | _placeholders(originals[0])
        for number, string in enumerate(strings):
            found = _placeholders(string)
            # A singular may omit the number.
            is_singular = len(strings) > 1 and number == 0
            if not (found <= allowed if is_singular else found == wanted):
                yield f"{originals[-1]!r}: placeholders or tags differ: {string!r}"
            if _percent_signs(string) != _percent_signs(originals[-1]):
                yield f"{originals[-1]!r}: % must be written the same way: {string!r}"


def _forms(text: Any) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text or ())


def _placeholders(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def _percent_signs(text: str) -> set[str]:
    """Return how a text writes percent signs: "%", or "%%" if it is a template."""
    return set(re.findall("%+", PYTHON_PLACEHOLDER.sub("", text)))
