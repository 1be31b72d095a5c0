"""What a report says beyond single cells: factor effects, co-runs, energy."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.comparing.coruns import ComparedCoRun, StudyCoRuns, study_coruns
from benchmarks.comparing.factor_effects import (
    Analysis,
    ComponentEffects,
    Response,
    study_effects,
)
from benchmarks.models import Study
from benchmarks.power.meters import study_energy
from benchmarks.studies.flags import withheld_cells
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.coruns import drawings
from dashboard.charts.drawings import NONE
from dashboard.charts.effects import Ranked, ranking, scale_of
from dashboard.charts.energy import energy_drawing, performance_drawing
from dashboard.charts.factor_effects import Detail, HalfNormal, detail
from dashboard.exports.report.charts import drawn
from dashboard.kit.document import Figure, Section, Table, plain_table
from dashboard.wording import short_names
from dashboard.wording.coruns import corun_answer
from dashboard.wording.energy import energy_answer
from dashboard.wording.factor_effects import statements

MOST_EFFECTS = 12


def effects_section(viewer: Viewer, study: Study) -> Section | None:
    """Return which parameters moved the results, where the design tells it."""
    found = study_effects(viewer, study)
    told = [
        each for each in found.components if each.whole and each.whole.found.effects
    ]
    if not told:
        return None
    texts = [
        _(
            "Scenario %(scenario)s. A bar is by which factor a parameter moves the "
            "response; filled bars are clear, open ones may be chance, which the "
            "shaded bands show."
        )
        % {"scenario": wording.scenario_name(found.scenario)}
    ]
    charts: list[Figure] = []
    tables: list[Table] = []
    for each in told:
        texts.append(_effects_text(each))
        if each.whole is not None:
            _add_effects(each.whole, found.response, charts, tables)
    return Section(
        "factor-effects",
        _("Factor effects"),
        tuple(texts),
        tuple(tables),
        charts=tuple(charts),
    )


def _effects_text(each: ComponentEffects) -> str:
    lines = statements(each.whole) if each.whole else []
    return f"{wording.component_name(each.component)}: {' '.join(lines)}"


def _add_effects(
    whole: Analysis, response: Response, charts: list[Figure], tables: list[Table]
) -> None:
    name = wording.component_name(whole.component)
    parts = detail(whole, response)
    caption = _("%(component)s: parameters by their effect. %(chance)s") % {
        "component": name,
        "chance": parts.chance,
    }
    charts.append(Figure(caption, caption, _ranked(whole, parts), (len(tables),)))
    tables.append(_effects_table(name, parts))
    if parts.half_normal:
        charts.append(_half_normal(name, parts.half_normal, len(tables)))
        tables.append(_contrasts_table(name, parts.half_normal))


def _ranked(whole: Analysis, parts: Detail) -> Chart:
    effects = whole.found.effects[:MOST_EFFECTS]
    rows = [
        Ranked(row.name, row.change, row.factor, effect)
        # Not strict: rows are of all effects, and the strongest alone are drawn.
        for row, effect in zip(parts.effects, effects, strict=False)
    ]
    return ranking(rows, scale_of(whole.found.effects), parts.ends)


def _effects_table(name: str, parts: Detail) -> Table:
    head = (
        _("Parameter"),
        _("Change"),
        _("Factor"),
        _("With margin") if parts.half_normal else _("95 % interval"),
        _("Beyond chance?"),
    )
    rows = [
        (row.name, row.change, row.factor, row.bounds or NONE, row.strength_name)
        for row in parts.effects
    ]
    title = _("%(component)s: effects, the strongest first") % {"component": name}
    return plain_table(title, head, rows, weights=(4, 6, 2, 4, 3))


def _half_normal(name: str, found: HalfNormal, at: int) -> Figure:
    caption = _(
        "%(component)s: half-normal plot of all contrasts. Chance alone would put all "
        "of them on the slanted line; the upright lines are the margins of Lenth for "
        "one contrast and for all together."
    ) % {"component": name}
    caption = f"{caption} {found.note}".rstrip()
    return Figure(caption, caption, found.figure, (at,))


def _contrasts_table(name: str, found: HalfNormal) -> Table:
    head = (_("Contrast"), _("Factor"), _("Beyond chance?"))
    title = _("%(component)s: contrasts") % {"component": name}
    return plain_table(title, head, found.rows, weights=(6, 2, 3))


def corun_section(study: Study) -> Section | None:
    """Return what VMs did together: a case of each component drawn."""
    found = study_coruns(study)
    if not found.coruns:
        return None
    withheld = withheld_cells(study)
    texts: list[str] = []
    charts: list[Figure] = []
    tables: list[Table] = []
    # `study_coruns` sorts by component, then by case.
    for component, members in groupby(
        found.coruns, key=lambda each: each.of.case.component
    ):
        coruns = list(members)
        name = wording.component_name(component)
        texts.append(f"{name}: {corun_answer(coruns, withheld)}")
        for some, table in _corun_charts(found, coruns, len(tables)):
            charts += some
            tables.append(table)
    return Section(
        "co-runs", _("Co-runs"), tuple(texts), tuple(tables), charts=tuple(charts)
    )


def _corun_charts(
    found: StudyCoRuns, coruns: Sequence[ComparedCoRun], at: int
) -> Iterator[tuple[tuple[Figure, ...], Table]]:
    """Draw the first case with a direction: one stands for its component."""
    directed = (each.of.case for each in coruns if each.of.case.better != "neither")
    case = next(directed, None)
    if case is None:
        return
    of_case = [each for each in coruns if each.of.case.pk == case.pk]
    curves = [each for each in found.curves if each.case.pk == case.pk]
    name = f"{tools.get(case.tool).title}: {case.label}"
    for place, drawing in enumerate(drawings(of_case, curves)):
        yield drawn(drawing, name, at + place)


def energy_section(study: Study) -> Section | None:
    """Return what the meters say of each workload."""
    found = study_energy(study, None)
    texts: list[str] = []
    charts: list[Figure] = []
    tables: list[Table] = []
    for each in found.tables:
        names = short_names(one.system for one in each.systems)
        texts.append(f"{each.workload}: {energy_answer(each, names)}")
        pictures = (
            energy_drawing(each, names, None),
            performance_drawing(each, names),
        )
        for drawing in filter(None, pictures):
            some, table = drawn(drawing, each.workload, len(tables))
            charts += some
            tables.append(table)
    if not tables:
        return None
    return Section(
        "energy", _("Energy"), tuple(texts), tuple(tables), charts=tuple(charts)
    )
