"""What a report says beyond single cells: factor effects, co-runs, energy."""

from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks.comparing.coruns import study_coruns
from benchmarks.comparing.factor_effects import Analysis, study_effects
from benchmarks.models import Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.power.meters import study_energy
from benchmarks.studies.flags import withheld_cells
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.coruns import drawings
from dashboard.charts.drawings import NONE
from dashboard.charts.effects import Detail, detail, effect_limit, ranking
from dashboard.charts.energy import energy_drawing, performance_drawing
from dashboard.exports.report.charts import drawn
from dashboard.kit.document import Figure, Section, Table, plain_table
from dashboard.wording import short_names
from dashboard.wording.coruns import corun_answer
from dashboard.wording.energy import energy_answer
from dashboard.wording.factor_effects import statements

MOST_EFFECTS = 12


def effects_section(viewer: Viewer, study: Study) -> Section | None:
    """Return which parameters moved the results, where the design tells it."""
    effects = study_effects(viewer, study)
    wholes = [part.whole for part in effects.components if part.whole]
    analyses = [whole for whole in wholes if whole.found.effects]
    if not analyses:
        return None
    texts = [
        _(
            "Scenario %(scenario)s. A bar is by which factor a parameter moves the "
            "response; filled bars are clear, open ones may be chance, which the "
            "shaded bands show."
        )
        % {"scenario": wording.scenario_name(effects.scenario)}
    ]
    charts: list[Figure] = []
    tables: list[Table] = []
    for analysis in analyses:
        name = wording.component_name(analysis.component)
        texts.append(f"{name}: {' '.join(statements(analysis))}")
        parts = detail(analysis, effects.response)
        charts.append(_ranking_figure(name, analysis, parts, len(tables)))
        tables.append(_effects_table(name, parts))
        if parts["half_normal"]:
            figure, table = _contrasts(name, parts["half_normal"], len(tables))
            charts.append(figure)
            tables.append(table)
    return Section(
        "factor-effects",
        _("Factor effects"),
        tuple(texts),
        tuple(tables),
        charts=tuple(charts),
    )


def _ranking_figure(name: str, analysis: Analysis, parts: Detail, place: int) -> Figure:
    """Draw the strongest effects of a component; ``place`` is that of their table."""
    caption = _("%(component)s: parameters by their effect. %(chance)s") % {
        "component": name,
        "chance": parts["chance"],
    }
    # The scale holds all effects, of which the strongest are drawn.
    limit = effect_limit(analysis.found.effects)
    chart = ranking(parts["effects"][:MOST_EFFECTS], limit, parts["ends"])
    return Figure(caption, caption, chart, (place,))


def _effects_table(name: str, parts: Detail) -> Table:
    head = (
        _("Parameter"),
        _("Change"),
        _("Factor"),
        _("With margin")
        if parts["half_normal"]
        else _("95\N{NO-BREAK SPACE}% interval"),
        _("Beyond chance?"),
    )
    rows = [
        (
            *(row["name"], row["change"], row["factor"]),
            *(row["bounds"] or NONE, row["strength_name"]),
        )
        for row in parts["effects"]
    ]
    title = _("%(component)s: effects, the strongest first") % {"component": name}
    return plain_table(title, head, rows, weights=(4, 6, 2, 4, 3))


def _contrasts(name: str, half_normal: Detail, place: int) -> tuple[Figure, Table]:
    """Return a half-normal plot and its table, which stands at ``place``."""
    caption = _(
        "%(component)s: half-normal plot of all contrasts. Chance alone would put all "
        "of them on the slanted line; the vertical lines are Lenth's margins for "
        "one contrast and for all together."
    ) % {"component": name}
    caption = f"{caption} {half_normal['note']}".rstrip()
    head = (_("Contrast"), _("Factor"), _("Beyond chance?"))
    title = _("%(component)s: contrasts") % {"component": name}
    return (
        Figure(caption, caption, half_normal["figure"], (place,)),
        plain_table(title, head, half_normal["rows"], weights=(6, 2, 3)),
    )


def corun_section(study: Study) -> Section | None:
    """Return what VMs did together: a case of each component drawn."""
    together = study_coruns(study)
    if not together.coruns:
        return None
    withheld = withheld_cells(study)
    texts: list[str] = []
    charts: list[Figure] = []
    tables: list[Table] = []
    # `study_coruns` sorts by component, then by case.
    for component, members in groupby(
        together.coruns, key=lambda corun: corun.of.case.component
    ):
        coruns = list(members)
        name = wording.component_name(component)
        texts.append(f"{name}: {corun_answer(coruns, withheld)}")
        # The first case with a direction is drawn: one stands for its component.
        cases = (corun.of.case for corun in coruns)
        case = next((case for case in cases if case.better != "neither"), None)
        if case is None:
            continue
        of_case = [corun for corun in coruns if corun.of.case.pk == case.pk]
        curves = [curve for curve in together.curves if curve.case.pk == case.pk]
        title = f"{known_tool(case.tool).title}: {case.label}"
        for drawing in drawings(of_case, curves):
            figures, table = drawn(drawing, title, len(tables))
            charts += figures
            tables.append(table)
    return Section(
        "co-runs", _("Co-runs"), tuple(texts), tuple(tables), charts=tuple(charts)
    )


def energy_section(study: Study) -> Section | None:
    """Return what the meters say of each workload."""
    texts: list[str] = []
    charts: list[Figure] = []
    tables: list[Table] = []
    for workload in study_energy(study, None).tables:
        names = short_names(system.system for system in workload.systems)
        texts.append(f"{workload.workload}: {energy_answer(workload, names)}")
        pictures = (
            energy_drawing(workload, names, None),
            performance_drawing(workload, names),
        )
        for drawing in filter(None, pictures):
            figures, table = drawn(drawing, workload.workload, len(tables))
            charts += figures
            tables.append(table)
    if not tables:
        return None
    return Section(
        "energy", _("Energy"), tuple(texts), tuple(tables), charts=tuple(charts)
    )
