"""A report as a PDF, set by Typst.

The document goes in as data, never as source, so no name can run anything.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from django.utils.translation import gettext as _

from dashboard.charts.chart import Chart
from dashboard.kit.document import Document

Standard = Literal["ua-1", "a-2a"]
SOURCE = Path(__file__).with_name("report.typ")
STANDARDS: Final[tuple[Standard, ...]] = ("ua-1", "a-2a")
"""PDF/UA-1 for screen readers, PDF/A-2a for archives."""


def pdf(document: Document, made_at: datetime) -> bytes:
    """Return a report as a PDF file."""
    # Imported where they are needed: no page has a use for 120 MB of them.
    import typst

    from dashboard.charts import paper

    # Charts are drawn once, for both attempts.
    data = json.dumps({**_data(document, paper.paper), "words": _words()})

    def typeset(standards: tuple[Standard, ...]) -> bytes:
        compiler = typst.Compiler(
            SOURCE.read_bytes(),
            root=SOURCE.parent,
            font_paths=typst.Fonts(
                include_system_fonts=False, font_paths=[str(paper.font())]
            ),
            sys_inputs={"report": data},
        )
        file = compiler.compile(
            format="pdf",
            timestamp=int(made_at.timestamp()),
            pdf_standards=list(standards),
        )
        return cast(bytes, file)  # of several pages only pictures are a list

    try:
        return typeset(STANDARDS)
    except typst.TypstError:
        # A name has a letter that no font of ours has: no standard allows that.
        return typeset(())


def _data(document: Document, draw: Callable[[Chart], bytes]) -> dict[str, Any]:
    """Return a report as JSON knows it, its charts drawn."""
    sections = [
        {
            # asdict() would take the charts apart, number by number.
            **asdict(replace(section, charts=())),
            "charts": [
                {
                    "caption": figure.caption,
                    "alt": figure.alt,
                    "svg": draw(figure.chart).decode(),
                    "of": figure.of,
                    "number": figure.number,
                    "source": figure.source,
                }
                for figure in section.charts
            ],
        }
        for section in document.sections
    ]
    return {**asdict(replace(document, sections=())), "sections": sections}


def _words() -> dict[str, str]:
    """Return the words that the typesetter itself sets."""
    return {
        "citation": _("Citation"),
        "contents": _("Contents"),
        "table": _("Table"),
        "figure": _("Figure"),
        "report": _("Virtlab report"),
    }
