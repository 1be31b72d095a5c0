"""A report as a PDF, by Typst: its wheel has the typesetter and the fonts in it.

The document goes in as data. No text of it ever becomes a part of the source, so no
name can run anything; the compiler sees no fonts, packages or files but its own.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from django.utils.translation import gettext as _

from dashboard.report.document import Document

SOURCE = Path(__file__).with_name("report.typ")


def pdf(document: Document, made_at: datetime) -> bytes:
    """Return a report as a PDF file."""
    (file,) = _typeset(document, made_at, "pdf")
    return file


def pictures(document: Document, made_at: datetime) -> list[bytes]:
    """Return the pages of a report as PNG files, to look at them."""
    return _typeset(document, made_at, "png")


def _typeset(
    document: Document, made_at: datetime, form: Literal["pdf", "png"]
) -> list[bytes]:
    # Imported where it is needed: 80 MB that no other page has a use for.
    import typst

    words = {"citation": _("Citation"), "table": _("Table"), "figure": _("Figure")}
    said = {**document.data(), "words": words}
    compiler = typst.Compiler(
        SOURCE.read_bytes(),
        root=SOURCE.parent,
        font_paths=typst.Fonts(include_system_fonts=False),
        sys_inputs={"report": json.dumps(said)},
    )
    made = compiler.compile(format=form, timestamp=int(made_at.timestamp()))
    return made if isinstance(made, list) else [made or b""]
