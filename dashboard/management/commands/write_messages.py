"""`manage.py write_messages`: write or check the list of all texts to translate.

Uses Babel, without GNU gettext, and leaves out line numbers.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract, extract_python
from babel.messages.pofile import write_po
from django.conf import settings
from django.utils.translation.template import templatize

from benchmarks.management import GeneratingCommand
from benchmarks.plausibility.rules import RULES
from dashboard.wording.states import evidence_name

ROOMS = ("api", "benchmarks", "config", "dashboard")
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    # What the core, which knows no gettext, makes its sentences with.
    "Sentence": None,
    "template": None,
    # What a tool's reader says.
    "ParseError": None,
    "refused": None,
    "finished": (2,),
    "parser": None,
    "mark": (2,),
    "counted": (1, 2),
    "rule": (2,),
    "ConflictError": (2,),
    "ForbiddenError": (2,),
    "InvalidError": (2,),
    "MalformedError": (2,),
    "StorageFullError": (2,),
    "TooLargeError": (2,),
    "UnavailableError": (2,),
}
HEAD = "# Every text of Virtlab, for its translators. `make docs` writes it."
OF_BABEL = re.compile(r'^"(POT-Creation-Date|Generated-By):.*\n', re.MULTILINE)


class Command(GeneratingCommand):
    """No text can be missing from the translators' files."""

    help = __doc__

    def files(self) -> dict[Path, str]:
        root = Path(settings.BASE_DIR)
        messages = catalogue(*(root / room for room in ROOMS))
        for rule in RULES.values():
            messages.add(rule.documentation)
        for path in (root / "benchmarks" / "plausibility").rglob("*.py"):
            for name in _evidence(ast.parse(path.read_text())):
                messages.add(name)
        written = BytesIO()
        write_po(written, messages, width=88, no_location=True, sort_output=True)
        # When and by which Babel it was made is no news.
        text = OF_BABEL.sub("", written.getvalue().decode())
        return {root / "locale" / "django.pot": text}


def catalogue(*folders: Path) -> Catalog:
    """Return every text that sources and templates below some folders mark."""
    messages = Catalog(project="Virtlab", fuzzy=False, header_comment=HEAD)
    methods: list[tuple[str, Any]] = [("*.py", "python"), ("*.html", _template)]
    for pattern, method in methods:
        for path in (path for folder in folders for path in folder.rglob(pattern)):
            with path.open("rb") as source:
                texts = extract(method, source, KEYWORDS, ["Translators:"])
                for _line, text, comments, context in texts:
                    messages.add(text, auto_comments=comments, context=context)
    return messages


def _template(
    source: IO[bytes],
    keywords: Mapping[str, Any],
    comment_tags: Collection[str],
    options: Any,
) -> Iterator[Any]:
    """Read a template as `makemessages` does: as calls of gettext, not indented."""
    lines = templatize(source.read().decode()).splitlines()
    calls = BytesIO("\n".join(line.strip() for line in lines).encode())
    return extract_python(calls, keywords, comment_tags, options)


def _evidence(tree: ast.Module) -> Iterator[str]:
    """Return what evidence is called: keywords of findings, keys within them."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            keys: list[object] = []
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "about_cells"
            ):
                keys = [each.arg for each in node.keywords if each.arg != "severity"]
            elif isinstance(node, ast.Dict):
                keys = [e.value for e in node.keys if isinstance(e, ast.Constant)]
            yield from (evidence_name(key) for key in keys if isinstance(key, str))
