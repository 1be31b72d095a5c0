"""A study as a report, put together from what the pages show."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from benchmarks.comparing.printed import printed_tables
from benchmarks.comparing.profile import Profile, judged_profile
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Flag, Study, System
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.publishing.readiness import study_assessment
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.lists import StudyDetail, study_detail, tool_versions
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, bibtex
from dashboard.exports.report.charts import profile_chart
from dashboard.exports.report.disclosure import disclosure, fact_text, not_stated
from dashboard.exports.report.findings import findings
from dashboard.exports.report.flagged import flags_section
from dashboard.exports.report.matrix import matrix
from dashboard.exports.report.method import method
from dashboard.exports.report.numbering import numbered
from dashboard.exports.report.originals import originals
from dashboard.exports.report.studied import (
    corun_section,
    effects_section,
    energy_section,
)
from dashboard.exports.report.tooling import tools_table
from dashboard.kit.document import Document, Section, plain_table
from dashboard.kit.figures import for_files
from dashboard.kit.profile import profile_section
from dashboard.wording import emulation_words, short_names


@dataclass(frozen=True)
class Making:
    """Who made a report, when, from which version."""

    made_at: datetime
    version: str
    who: str


@for_files()  # the page says what the file says
def report(
    viewer: Viewer, study: Study, citation: Citation, making: Making
) -> Document:
    """Return the report of a study, in a fixed number of queries."""
    detail = study_detail(study)
    return Document(
        title=study.title,
        byline=_byline(study),
        language="en",
        facts=tuple(_facts(study, citation)),
        colophon=colophon(making),
        sections=tuple(numbered(_sections(viewer, study, detail))),
        citation=bibtex(citation),
        author=study.author or study.lab.name,
    )


def _sections(viewer: Viewer, study: Study, detail: StudyDetail) -> Iterator[Section]:
    """Return what a report says, part by part; a part without anything is left out."""
    verdicts = study_verdicts(study)
    rows = comparison_rows(study, systems=detail.systems, filters={}, verdicts=verdicts)
    found, beyond = judged_profile(rows, verdicts), _beyond_cells(viewer, study)
    tools = tools_table(rows, tool_versions(study))
    yield _about(study, detail.systems)
    yield method(study, {part.name for part in beyond})
    yield disclosure(detail, study_assessment(study), tools)
    yield _profile(found)
    yield findings(rows, found, verdicts.tested, short_names(detail.systems))
    yield from matrix(rows)
    yield from beyond
    printed = originals(printed_tables(viewer, study))
    if printed.tables:
        yield printed
    yield flags_section(_flags(viewer, study))
    yield _sources(detail)


def _flags(viewer: Viewer, study: Study) -> list[Flag]:
    """Return the flags, those first that doubt the most."""
    return sorted(
        visible_flags(viewer, study=study),
        key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk),
    )


def _profile(found: Profile) -> Section:
    section = profile_section(found)
    tables = (replace(each, caption=_("Each system's cost")) for each in section.tables)
    return replace(section, tables=tuple(tables), charts=profile_chart(found))


def _beyond_cells(viewer: Viewer, study: Study) -> list[Section]:
    parts = (
        effects_section(viewer, study),
        corun_section(study),
        energy_section(study),
    )
    return list(filter(None, parts))


def _byline(study: Study) -> str:
    parts = (study.author, study.institution, study.published)
    return ", ".join(filter(None, parts)) or study.lab.name


def _facts(study: Study, citation: Citation) -> list[tuple[str, str]]:
    return [
        (_("Authors"), study.author or not_stated()),
        (_("Institution"), study.institution or not_stated()),
        (_("Date"), study.published or not_stated()),
        (_("Study"), f"{study.lab.slug}/{study.slug}"),
        (_("Address"), citation.address),
    ]


@for_files()
def colophon(making: Making) -> str:
    """Return the line at the end: who made a report, when, from which version."""
    return _("Made on %(when)s UTC by Virtlab %(version)s for %(who)s.") % {
        "when": making.made_at.strftime("%Y-%m-%d %H:%M"),
        "version": making.version,
        "who": making.who or _("anybody"),
    }


def _about(study: Study, systems: Iterable[System]) -> Section:
    rows = [[name, fact_text(levels)] for name, levels in study.factors.items()]
    tables = (plain_table(_("What was varied"), (), rows),) if rows else ()
    texts = [study.note] if study.note else []
    if any(system.is_emulated for system in systems):
        texts.append(emulation_words())
    return Section("about", _("What this is"), (*texts, _how_to_read()), tables)


def _how_to_read() -> str:
    return _(
        "Read it in this order: the profile says what each system costs, the findings "
        "what may be said of it, the matrix has every cell, and the flags say which "
        "numbers are doubtful. A number without an interval is of a single run: it "
        "says what was measured once, not what would be measured again."
    )


def _sources(detail: StudyDetail) -> Section:
    rows = [[document, str(count)] for document, count in detail.sources]
    head = (_("Document"), _("Runs"))
    if not rows:
        return Section("sources", _("Sources"), (_("Measured here: no document."),))
    title = _("Where the numbers were printed")
    table = plain_table(title, head, rows, numbers_from=1)
    return Section("sources", _("Sources"), (), (table,))
