"""`manage.py write_catalogue`: mark what the core says for translators, or check it."""

import json
from pathlib import Path

from django.conf import settings

from benchmarks.management.generating import GeneratingCommand
from dashboard.wording.core_texts import Text, core_texts

HEAD = '''"""Every text of the core, marked for `makemessages`.

Made from the sources by `make docs`: change a sentence where it is made, not here.
"""
# ruff: noqa: E501
# fmt: off

from django.utils.translation import gettext_noop, ngettext_lazy

TEXTS = (
'''


class Command(GeneratingCommand):
    """No sentence of the core can be missing from the translators' files."""

    help = __doc__

    def files(self) -> dict[Path, str]:
        return {_path(): catalogue()}


def catalogue() -> str:
    """Return the text of `dashboard/wording/catalogue.py`."""
    root = Path(settings.BASE_DIR)
    texts = core_texts(root / "benchmarks", root / "dashboard", made=_path())
    return f"{HEAD}{''.join(map(_line, texts))})\n"


def _path() -> Path:
    return Path(settings.BASE_DIR) / "dashboard" / "wording" / "catalogue.py"


def _line(text: Text) -> str:
    if text.plural:
        one, many = _quoted(text.singular), _quoted(text.plural)
        return f"    ngettext_lazy({one}, {many}),\n"
    return f"    gettext_noop({_quoted(text.singular)}),\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
