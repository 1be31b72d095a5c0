"""Report of a study, and its PDF.

Typst gets the document as data, never as source, so that names cannot be commands.
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
from django.utils.translation import gettext as _

from benchmarks.comparison.cell_details import printed_tables
from benchmarks.comparison.overhead_profile import profile_with_verdicts
from benchmarks.comparison.row_queries import comparison_rows
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.evidence.replication import reproduced_by
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import Report, Study
from benchmarks.publishing.generation_requests import (
    claim_request,
    record_report_failure,
    set_stage,
)
from benchmarks.publishing.study_level import assess_study
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.overview import StudyDetail, study_detail, tool_versions
from benchmarks.viewer import Viewer
from dashboard.charts.chart import Chart
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.report.analysis_sections import (
    conclusions_section,
    corun_section,
    effects_section,
    energy_section,
    flags_section,
)
from dashboard.exports.report.charts import profile_chart
from dashboard.exports.report.method_and_setup import (
    method_section,
    nested_fact_text,
    not_stated_text,
    setup_section,
    tools_table,
)
from dashboard.exports.report.original_tables import printed_tables_section
from dashboard.exports.report.result_matrix import result_sections
from dashboard.kit.formatting import number_format_for_files
from dashboard.kit.overhead_profile import profile_section
from dashboard.kit.report_elements import ReportDocument, ReportSection, plain_table
from dashboard.kit.viewers import viewer_for
from dashboard.wording import emulation_note, short_system_names

logger = logging.getLogger(__name__)
PdfStandard = Literal["ua-1", "a-2a"]
TYPST_SOURCE = Path(__file__).with_name("report.typ")
PDF_STANDARDS: Final[tuple[PdfStandard, ...]] = ("ua-1", "a-2a")
"""PDF/UA-1 for screen readers, PDF/A-2a for archives."""


@dataclass(frozen=True)
class ReportImprint:
    created_at: datetime
    version: str
    created_for: str


@number_format_for_files()
def colophon(imprint: ReportImprint) -> str:
    return _("Created on %(when)s UTC by Virtlab %(version)s for %(who)s.") % {
        "when": imprint.created_at.strftime("%Y-%m-%d %H:%M"),
        "version": imprint.version,
        "who": imprint.created_for or _("anyone"),
    }


@number_format_for_files()  # the page shows the same numbers as the PDF
def build_report(
    viewer: Viewer, study: Study, citation: Citation, imprint: ReportImprint
) -> ReportDocument:
    """Return the report; the number of queries does not depend on its size."""
    detail = study_detail(study)
    byline = ", ".join(filter(None, (study.author, study.institution, study.published)))
    facts = (
        (_("Authors"), study.author or not_stated_text()),
        (_("Institution"), study.institution or not_stated_text()),
        (_("Date"), study.published or not_stated_text()),
        (_("Study"), f"{study.lab.slug}/{study.slug}"),
        (_("URL"), citation.url),
    )
    return ReportDocument(
        title=study.title,
        byline=byline or study.lab.name,
        language="en",
        facts=facts,
        colophon=colophon(imprint),
        sections=tuple(_with_numbers(_sections(viewer, study, detail))),
        citation=bibtex(citation),
        author=study.author or study.lab.name,
    )


def _sections(
    viewer: Viewer, study: Study, detail: StudyDetail
) -> Iterator[ReportSection]:
    verdicts = study_verdicts(study)
    all_rows = comparison_rows(
        study,
        systems=detail.systems,
        filters={},
        verdicts=verdicts,
        includes_failed=True,
    )
    rows = [row for row in all_rows if row.result.n]
    profile = profile_with_verdicts(rows, verdicts)
    optional_sections = (
        effects_section(viewer, study),
        corun_section(study),
        energy_section(study),
    )
    analysis_sections = [section for section in optional_sections if section]
    yield _about_section(study, detail)
    yield method_section(study, {section.name for section in analysis_sections})
    tools = tools_table(rows, tool_versions(study))
    yield setup_section(
        detail, assess_study(study).with_reproducing_labs(reproduced_by(study)), tools
    )
    overhead, title = profile_section(profile), _("Cost of each system")
    tables = tuple(replace(table, caption=title) for table in overhead.tables)
    yield replace(overhead, tables=tables, figures=profile_chart(profile))
    yield conclusions_section(
        rows, profile, verdicts.tested_count, short_system_names(detail.systems)
    )
    yield from result_sections(all_rows)
    yield from analysis_sections
    printed = printed_tables_section(printed_tables(viewer, study))
    if printed.tables:
        yield printed
    yield flags_section(visible_flags(viewer, study=study))
    if detail.sources:
        documents = plain_table(
            _("Source documents"),
            (_("Document"), _("Runs")),
            [[document, str(runs)] for document, runs in detail.sources],
            numbers_from=1,
        )
        yield ReportSection("sources", _("Sources"), (), (documents,))
    else:
        yield ReportSection(
            "sources",
            _("Sources"),
            (_("The runs were measured directly and have no source document."),),
        )


def _about_section(study: Study, detail: StudyDetail) -> ReportSection:
    texts = [study.note] if study.note else []
    if any(system.is_emulated for system in detail.systems):
        texts.append(emulation_note())
    texts.append(
        _(
            "Read this report in the following order. The profile shows the cost "
            "of each system, the findings show what can be concluded, the matrix "
            "contains every result, and the flags list the doubtful numbers. A "
            "number without an interval comes from a single run, so it is unknown "
            "how much a second run would differ."
        )
    )
    factors = [
        [name, nested_fact_text(levels)] for name, levels in study.factors.items()
    ]
    tables = (plain_table(_("Factors varied"), (), factors),) if factors else ()
    return ReportSection("about", _("About this study"), texts, tables)


def _with_numbers(sections: Iterable[ReportSection]) -> Iterator[ReportSection]:
    table_numbers, chart_numbers = count(1), count(1)
    for section in sections:
        tables = [
            replace(table, number=next(table_numbers)) if table.rows else table
            for table in section.tables
        ]
        charts = []
        for chart in section.figures:
            numbers = [tables[index].number for index in chart.table_indexes]
            numbers = numbers or [table.number for table in tables]
            if len(numbers) == 1:
                source = _("Data: Table %(n)s.") % {"n": numbers[0]}
            else:
                values = {"first": numbers[0], "last": numbers[-1]}
                source = _("Data: Tables %(first)s to %(last)s.") % values
            charts.append(replace(chart, number=next(chart_numbers), source=source))
        yield replace(section, tables=tables, figures=charts)


def report_version() -> str:
    """Return a text that changes with what a report depends on besides its study."""
    return f"{timezone.now().date()} {settings.VERSION}"


@queue.job_handler(JobKind.REPORT, on_failure=record_report_failure)
def generate_reports(jobs: Jobs) -> None:
    report = claim_request(Report, jobs)
    if report is None:
        return
    try:
        imprint = ReportImprint(
            created_at=timezone.now(),
            version=settings.VERSION,
            created_for=report.person.get_username() if report.person else "",
        )
        citation = citation_at(report.site_url, report.study)
        viewer = viewer_for(report.person)
        document = build_report(viewer, report.study, citation, imprint)
        set_stage(report, Report.Stage.TYPESETTING)
        file = render_pdf(document, imprint.created_at)
    except Exception:
        logger.exception("Report %s was not made", report.pk)
        set_stage(report, Report.Stage.FAILED)
    else:
        set_stage(report, Report.Stage.DONE, content=file)


def render_pdf(document: ReportDocument, created_at: datetime) -> bytes:
    # Importing them only here saves 120 MB of memory in web processes.
    import typst

    from dashboard.charts import matplotlib_renderer

    # Draw charts once for both attempts.
    data = json.dumps(
        {
            **_json_document(document, matplotlib_renderer.render_chart_file),
            "words": _typst_texts(),
        }
    )

    def typeset(standards: tuple[PdfStandard, ...]) -> bytes:
        compiler = typst.Compiler(
            TYPST_SOURCE.read_bytes(),
            root=TYPST_SOURCE.parent,
            font_paths=typst.Fonts(
                include_system_fonts=False,
                font_paths=[str(matplotlib_renderer.font_path())],
            ),
            sys_inputs={"report": data},
        )
        file = compiler.compile(
            format="pdf",
            timestamp=int(created_at.timestamp()),
            pdf_standards=list(standards),
        )
        return cast(bytes, file)  # only image formats return a list of pages

    try:
        return typeset(PDF_STANDARDS)
    except typst.TypstError:
        # The standards forbid characters that no font contains.
        return typeset(())


def _json_document(
    document: ReportDocument, draw: Callable[[Chart], bytes]
) -> dict[str, Any]:
    sections = [
        {
            # asdict() would convert charts recursively.
            **asdict(replace(section, figures=())),
            "figures": [
                {
                    "caption": figure.caption,
                    "alt": figure.alt,
                    "svg": draw(figure.chart).decode(),
                    "table_indexes": figure.table_indexes,
                    "number": figure.number,
                    "source": figure.source,
                }
                for figure in section.figures
            ],
        }
        for section in document.sections
    ]
    return {**asdict(replace(document, sections=())), "sections": sections}


def _typst_texts() -> dict[str, str]:
    return {
        "citation": _("Citation"),
        "contents": _("Contents"),
        "table": _("Table"),
        "figure": _("Figure"),
        "report": _("Virtlab report"),
    }
