"""Language in which every translated text is marked, and a search for unmarked ones.

Texts of a page are translated, or data: names, facts, units, raw output. All others are
missing a call of gettext.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import django
import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings
from django.core import serializers
from django.http import HttpResponse
from django.test import override_settings
from django.utils import translation
from django.utils.translation import trans_real
from django.utils.translation.trans_real import CONTEXT_SEPARATOR

from benchmarks import models, tools, units
from benchmarks.plausibility.rules import RULES
from dashboard import wording

LIST = Path(__file__).parents[2] / "locale/django.pot"
OF_DJANGO = "conf/locale/de/LC_MESSAGES/django.po"
OPEN, CLOSE = "\u27e6", "\u27e7"  # white square brackets
MARKED = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
WORD = re.compile(r"[^\W\d_]{3,}")
HEARD = ("title", "aria-label", "alt", "placeholder", "content", "label")
# Django translates dates and times.
SILENT = {"script", "style", "code", "pre", "svg", "time"}

# Proper names and technical terms that are not translated.
NAMES = """Virtlab OpenAPI CSV JSON LaTeX Phoronix PNG SVG PDF BibTeX CSL UTC vCPU vCPUs
    CPU Hyper-V Lenth Benjamini Hochberg Jain alice carol testserver http studies
    English Deutsch Español"""
LONG = 60  # longer texts of the data are compared as a whole


class Marking(trans_real.DjangoTranslation):
    """English with brackets around each translatable text, ours or Django's."""

    def __init__(self) -> None:
        super().__init__("en")
        of_django = Path(django.__file__).parent / OF_DJANGO
        self.known = {one for path in (LIST, of_django) for one, *_ in texts_in(path)}

    def gettext(self, message: str) -> str:
        plain = message.rpartition(CONTEXT_SEPARATOR)[2]
        return f"{OPEN}{plain}{CLOSE}" if plain in self.known else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        chosen = msgid1 if n == 1 else msgid2
        return f"{OPEN}{chosen}{CLOSE}" if msgid1 in self.known else chosen


def texts_in(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the texts of a translation catalog, with plurals."""
    for message in read(path):
        if message.id:
            yield message.id if message.pluralizable else (message.id,)


def read(path: Path) -> Catalog:
    with path.open("rb") as listed:
        return read_po(listed)


@contextmanager
def translated(language: str, folder: Path) -> Iterator[None]:
    """Compile a translation with brackets around every text."""
    messages = Catalog(locale=language, fuzzy=False)
    for message in read(LIST):
        if message.pluralizable:
            messages.add(
                message.id, tuple(f"{OPEN}{item}{CLOSE}" for item in message.id)
            )
        elif message.id:
            said = f"{OPEN}{message.id}{CLOSE}"
            messages.add(message.id, said, context=message.context)
    place = folder / language / "LC_MESSAGES"
    place.mkdir(parents=True)
    with (place / "django.mo").open("wb") as compiled:
        write_mo(compiled, messages)
    languages = {**dict(settings.LANGUAGES), language: language}.items()
    with override_settings(LANGUAGES=list(languages), LOCALE_PATHS=[folder]):
        forget()
        yield
    forget()


@contextmanager
def marked_language() -> Iterator[Marking]:
    """Mark all texts within the context."""
    marking = Marking()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(trans_real._translations, "en", marking)
        patch.setattr(trans_real, "_default", marking)
        forget()
        try:
            yield marking
        finally:
            forget()


def forget() -> None:
    """Clear cached translations and the selected language."""
    translation.deactivate()
    for said in (wording._runs_text, wording._fact_text):
        said.cache_clear()


class Texts(HTMLParser):
    """Collector of all texts of a page, including charts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.shown: list[str] = []
        self._silent: list[str] = []
        self._is_chart = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in SILENT or "mono" in (given.get("class") or "").split():
            self._silent.append(tag)
        self._is_chart = given.get("type") == "application/json"
        for name, value in given.items():
            is_said = name in HEARD or name.startswith(
                ("data-text", "data-hint", "data-label")
            )
            if is_said and value and not (tag == "meta" and name != "description"):
                self.found.append(value)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()
        self._is_chart = False

    def handle_data(self, data: str) -> None:
        if self._is_chart:
            self.found.extend(chart_texts(json.loads(data)))
        elif not self._silent and data.strip():
            self.shown.append(data)


BETWEEN = "\x1f"
TEXTS = {"title", "text", "name", "ticktext", "hovertemplate"}


def chart_texts(value: Any, key: str = "") -> Iterator[str]:
    """Yield the texts of a chart: titles, names, ticks, hover texts."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "shapes":  # names used by scripts
                continue
            yield from chart_texts(
                each, name if not isinstance(each, dict) else key or name
            )
    elif isinstance(value, list):
        for item in value:
            yield from chart_texts(item, key)
    elif isinstance(value, str) and key in TEXTS:
        yield re.sub(r"%\{[^}]*\}|<[^>]*>", " ", value)


def unmarked(text: str) -> str:
    """Return the rest of a text without its marked parts."""
    while MARKED.search(text):
        text = MARKED.sub(" ", text)
    return text


def texts_of(page: HttpResponse) -> list[str]:
    """Return the texts of a page, or of a requested chart."""
    content = page.content.decode()
    if page.headers["Content-Type"] == "application/json":
        return list(chart_texts(json.loads(content)))
    texts = Texts()
    texts.feed(content)
    # A translated text may contain elements, so brackets may be in different ones.
    shown = unmarked(BETWEEN.join(texts.shown)).split(BETWEEN)
    return [*texts.found, *shown]


def untranslated(page: HttpResponse, known: set[str]) -> list[str]:
    """Return texts with words that are neither marked nor from the data."""
    parts = (part for item in texts_of(page) for part in unmarked(item).split(" · "))
    left = (" ".join(part.split()) for part in parts)
    return [text for text in left if text not in known and _words(text) - known]


def _words(text: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)}


def words_of_data() -> set[str]:
    """Return the words of names, facts and benchmarks in the data."""
    stored = (
        models.Lab,
        models.Agent,
        models.Study,
        models.Host,
        models.System,
        models.Case,
    )
    rows = [serializers.serialize("python", model.objects.all()) for model in stored]
    runs = models.Run.objects.only("facts", "document", "table").iterator()
    rows += [[run.facts, run.document, run.table] for run in runs]
    rows += [[tool.title, tool.slug] for tool in tools.TOOLS.values()]
    rows += [[m.name, m.component] for t in tools.TOOLS.values() for m in t.metrics]
    rows += [[*units.UNITS, *RULES, *NAMES.split()]]
    rows += [[case.label for case in models.Case.objects.all()]]
    rows += [list(models.Cell.objects.values_list("load", flat=True).distinct())]
    texts = {" ".join(text.split()) for text in strings(rows)}
    names = [word for text in texts if len(text) < LONG for word in WORD.findall(text)]
    return {*map(str.casefold, names), *(text for text in texts if len(text) >= LONG)}


def strings(value: Any) -> Iterator[str]:
    """Yield all texts in nested lists and mappings, with the names of facts."""
    if isinstance(value, dict):
        yield from strings(list(value))
        yield from strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value
