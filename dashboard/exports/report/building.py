"""A study as a report, put together from what the pages show, and its PDF.

Typst sets the PDF: the document goes in as data, never as source, so no name can run
anything.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, cast

from django.conf import settings
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from benchmarks.comparing.cell_evidence import printed_tables
from benchmarks.comparing.profile import judged_profile
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.evidence.replication import reproduced_by
from benchmarks.models import Report, Study
from benchmarks.publishing.making import begin, note, note_report_failed
from benchmarks.publishing.versions import study_assessment
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.lists import StudyDetail, study_detail, tool_versions
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import Viewer
from dashboard.charts.chart import Chart
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.report.charts import profile_chart
from dashboard.exports.report.disclosure import (
    disclosure,
    fact_text,
    method,
    not_stated,
    tools_table,
)
from dashboard.exports.report.findings import (
    corun_section,
    effects_section,
    energy_section,
    findings,
    flags_section,
)
from dashboard.exports.report.matrix import matrix
from dashboard.exports.report.originals import originals
from dashboard.kit.document import Document, Section, plain_table
from dashboard.kit.figures import for_files
from dashboard.kit.profile import profile_section
from dashboard.kit.viewers import viewer_named
from dashboard.wording import emulation_words, short_names

logger = logging.getLogger(__name__)
Standard = Literal["ua-1", "a-2a"]
SOURCE = Path(__file__).with_name("report.typ")
STANDARDS: Final[tuple[Standard, ...]] = ("ua-1", "a-2a")
"""PDF/UA-1 for screen readers, PDF/A-2a for archives."""


@dataclass(frozen=True)
class Imprint:
    """Who a report was created for, when, by which version."""

    created_at: datetime
    version: str
    who: str


@for_files()
def colophon(imprint: Imprint) -> str:
    """Return an imprint as the line at the end of a report."""
    return _("Created on %(when)s UTC by Virtlab %(version)s for %(who)s.") % {
        "when": imprint.created_at.strftime("%Y-%m-%d %H:%M"),
        "version": imprint.version,
        "who": imprint.who or _("anybody"),
    }


@for_files()  # the page says what the file says
def report(
    viewer: Viewer, study: Study, citation: Citation, imprint: Imprint
) -> Document:
    """Return the report of a study, in a fixed number of queries."""
    detail = study_detail(study)
    byline = ", ".join(filter(None, (study.author, study.institution, study.published)))
    facts = (
        (_("Authors"), study.author or not_stated()),
        (_("Institution"), study.institution or not_stated()),
        (_("Date"), study.published or not_stated()),
        (_("Study"), f"{study.lab.slug}/{study.slug}"),
        (_("Address"), citation.address),
    )
    return Document(
        title=study.title,
        byline=byline or study.lab.name,
        language="en",
        facts=facts,
        colophon=colophon(imprint),
        sections=tuple(_numbered(_sections(viewer, study, detail))),
        citation=bibtex(citation),
        author=study.author or study.lab.name,
    )


def _sections(viewer: Viewer, study: Study, detail: StudyDetail) -> Iterator[Section]:
    """Yield the report part by part; one without content is left out."""
    verdicts = study_verdicts(study)
    rows = comparison_rows(study, systems=detail.systems, filters={}, verdicts=verdicts)
    profile = judged_profile(rows, verdicts)
    beyond_cells = (
        effects_section(viewer, study),
        corun_section(study),
        energy_section(study),
    )
    studied = [section for section in beyond_cells if section]
    yield _about(study, detail)
    yield method(study, {section.name for section in studied})
    tools = tools_table(rows, tool_versions(study))
    yield disclosure(
        detail, study_assessment(study).reproduced(reproduced_by(study)), tools
    )
    costs, title = profile_section(profile), _("Cost of each system")
    tables = tuple(replace(table, caption=title) for table in costs.tables)
    yield replace(costs, tables=tables, charts=profile_chart(profile))
    yield findings(rows, profile, verdicts.tested, short_names(detail.systems))
    yield from matrix(rows)
    yield from studied
    printed = originals(printed_tables(viewer, study))
    if printed.tables:
        yield printed
    yield flags_section(visible_flags(viewer, study=study))
    if detail.sources:
        documents = plain_table(
            _("Documents that the numbers come from"),
            (_("Document"), _("Runs")),
            [[document, str(runs)] for document, runs in detail.sources],
            numbers_from=1,
        )
        yield Section("sources", _("Sources"), (), (documents,))
    else:
        yield Section("sources", _("Sources"), (_("Measured here: no document."),))


def _about(study: Study, detail: StudyDetail) -> Section:
    texts = [study.note] if study.note else []
    if any(system.is_emulated for system in detail.systems):
        texts.append(emulation_words())
    texts.append(
        _(
            "Read it in this order: the profile states the cost of each system, the "
            "findings what may be concluded, the matrix has every result, and the "
            "flags name the doubtful numbers. A number without an interval comes from "
            "a single run: how much a second run would differ is unknown."
        )
    )
    factors = [[name, fact_text(levels)] for name, levels in study.factors.items()]
    tables = (plain_table(_("Factors varied"), (), factors),) if factors else ()
    return Section("about", _("About this study"), texts, tables)


def _numbered(sections: Iterable[Section]) -> Iterator[Section]:
    """Number tables and figures throughout; each figure names its tables."""
    table_numbers, chart_numbers = count(1), count(1)
    for section in sections:
        tables = [
            replace(table, number=next(table_numbers)) if table.lines else table
            for table in section.tables
        ]
        charts = []
        for chart in section.charts:
            numbers = [tables[at].number for at in chart.of]
            numbers = numbers or [table.number for table in tables]
            if len(numbers) == 1:
                source = _("Data: Table %(n)s.") % {"n": numbers[0]}
            else:
                ends = {"first": numbers[0], "last": numbers[-1]}
                source = _("Data: Tables %(first)s to %(last)s.") % ends
            charts.append(replace(chart, number=next(chart_numbers), source=source))
        yield replace(section, tables=tables, charts=charts)


def edition() -> str:
    """Return what a report depends on beside its study: day, version, language."""
    return f"{timezone.now().date()} {settings.VERSION} {get_language()}"


@queue.job(Kind.REPORT, failed=note_report_failed)
def make_report(jobs: Jobs) -> None:
    wanted = begin(Report, jobs)
    if wanted is None:
        return
    try:
        imprint = Imprint(
            created_at=timezone.now(),
            version=settings.VERSION,
            who=wanted.person.get_username() if wanted.person else "",
        )
        citation = citation_at(wanted.site, wanted.study)
        viewer = viewer_named(wanted.person)
        document = report(viewer, wanted.study, citation, imprint)
        note(wanted, Report.Stage.TYPESETTING)
        file = pdf(document, imprint.created_at)
    except Exception:  # whatever it is: the reader is told, the log has the rest
        logger.exception("Report %s was not made", wanted.pk)
        note(wanted, Report.Stage.FAILED)
    else:
        note(wanted, Report.Stage.DONE, content=file)


def pdf(document: Document, made_at: datetime) -> bytes:
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
        return cast(bytes, file)  # only pictures are a list, of one for each page

    try:
        return typeset(STANDARDS)
    except typst.TypstError:
        # No standard allows a character that is in none of the report's fonts.
        return typeset(())


def _data(document: Document, draw: Callable[[Chart], bytes]) -> dict[str, Any]:
    """Return a report as values for JSON, its charts as SVG."""
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
    """Return the words that `report.typ` adds to the document."""
    return {
        "citation": _("Citation"),
        "contents": _("Contents"),
        "table": _("Table"),
        "figure": _("Figure"),
        "report": _("Virtlab report"),
    }
