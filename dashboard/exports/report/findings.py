"""What may be concluded: verdicts, why there are none, losses; and what is doubted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.coruns import study_coruns
from benchmarks.comparing.factor_effects import Analysis, study_effects
from benchmarks.comparing.profile import Profile
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.models import Flag, Study
from benchmarks.models.run import SCENARIOS
from benchmarks.own_tools.lookup import known_tool
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.power.energy_tables import study_energy
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.coruns import drawings
from dashboard.charts.effects import Detail, detail, effect_limit, ranking
from dashboard.charts.energy import energy_drawing, performance_drawing
from dashboard.exports.report.charts import drawn
from dashboard.kit import figures
from dashboard.kit.document import (
    Entry,
    Figure,
    Line,
    Section,
    Table,
    heading,
    plain_table,
)
from dashboard.wording import NONE, short_names, states, verdicts
from dashboard.wording.coruns import corun_answer
from dashboard.wording.energy import energy_answer
from dashboard.wording.factor_effects import statements

ALONE = "single"
LOSSES = 3
REASONS = 12
FLAGS = 60


def findings(
    rows: Sequence[ComparisonRow],
    profile: Profile,
    tested: int,
    names: Mapping[int, str],
) -> Section:
    """Return the counts of verdicts, why others got none, and the losses."""
    judgements = [
        row.shown.judgement
        for row in rows
        if row.shown.judgement and (row.shown.ratio or row.shown.ratio_range)
    ]
    if not judgements:
        return Section("findings", _("Findings"), (_("No result has a ratio yet."),))
    counts = Counter(judgement.verdict for judgement in judgements)
    by_verdict = (
        f"{name} {counts[verdict]}"
        for verdict, name in verdicts.VERDICTS.items()
        if counts[verdict]
    )
    words = {"n": len(judgements), "counts": ", ".join(by_verdict)}
    texts = [_("Of %(n)s results with a ratio: %(counts)s.") % words]
    if tested:
        corrected = _(
            "Verdicts are corrected for %(tested)s results that were tested together "
            "(Benjamini-Hochberg, 5\N{NO-BREAK SPACE}%%)."
        )
        texts.append(corrected % {"tested": tested})
    if scopes := verdicts.scopes_text(verdicts.judged_scopes(judgements)):
        texts.append(scopes)
    if any(judgement.is_weak and judgement.is_assessed for judgement in judgements):
        texts.append(
            _("A sign with a star (%(weak)s) is %(meaning)s.")
            % {"weak": verdicts.WEAK, "meaning": verdicts.WEAK_MEANING}
        )
    texts += _ranges(profile)
    reasons = Counter(
        wording.said(sentence)
        for judgement in judgements
        if not judgement.is_assessed
        for sentence in judgement.sentences
    )
    tables = []
    if reasons:
        title = _("Why results are not assessed; one may have several reasons")
        lines = [(reason, str(count)) for reason, count in reasons.most_common(REASONS)]
        columns = (_("Reason"), _("Results"))
        tables.append(plain_table(title, columns, lines, numbers_from=1))
    if losses := tuple(_loss_lines(rows, names)):
        head = _("System"), _("Benchmark"), _("Ratio"), _("Verdict")
        title = _("The largest losses, %(n)s of each component or scenario")
        line = Line(tuple(Entry(word, is_number=word == head[2]) for word in head))
        weights = (5, 6, 1, 3)
        tables.append(Table(title % {"n": LOSSES}, (line,), losses, 4, weights=weights))
    return Section("findings", _("Findings"), texts, tables)


def _ranges(profile: Profile) -> Iterator[str]:
    """Say of each component from which system to which its means reach."""
    for at, component in enumerate(profile.components):
        means = [
            (row.shares[at], wording.column_name(row.column)) for row in profile.rows
        ]
        stated = sorted((share.mean, name) for share, name in means if share)
        if len(stated) < 2:
            continue
        (low, lowest), (high, highest) = stated[0], stated[-1]
        words = {
            "component": wording.component_name(component),
            "low": figures.ratio(low),
            "lowest": lowest,
            "high": figures.ratio(high),
            "highest": highest,
        }
        text = _(
            "%(component)s: the systems' means reach from %(low)s (%(lowest)s) to "
            "%(high)s (%(highest)s)."
        )
        text %= words
        if doubted := sum(1 for share, _name in means if share and share.doubted):
            doubt = ngettext(
                "%(n)s of these means rests on flagged numbers.",
                "%(n)s of these means rest on flagged numbers.",
                doubted,
            )
            text = f"{text} {doubt % {'n': doubted}}"
        yield text


def _loss_lines(
    rows: Sequence[ComparisonRow], names: Mapping[int, str]
) -> Iterator[Line]:
    """Name the worst cases of each component alone, and of each other scenario."""

    def group(row: ComparisonRow) -> tuple[Any, ...]:
        component = row.case.component if row.scenario == ALONE else ""
        return rank(SCENARIOS, row.scenario), rank(COMPONENTS, component)

    # A sum over VMs is no loss of one, and what a slot loses the other slots have got.
    losses = [
        row
        for row in rows
        if row.shown.kind not in ("scaling", "slowdown")
        and row.shown.ratio is not None
        and row.shown.ratio < 1
    ]
    losses.sort(key=lambda row: (group(row), row.shown.ratio or 0))
    for _order, members in groupby(losses, key=group):
        # Of VMs that ran together the worst one stands for all.
        worst: dict[tuple[Any, ...], ComparisonRow] = {}
        for row in members:
            worst.setdefault((row.system.id, row.case.id, row.vms, row.load), row)
        first = next(iter(worst.values()))
        is_alone = first.scenario == ALONE
        component = wording.component_name(first.case.component)
        yield heading(
            component if is_alone else wording.scenario_name(first.scenario), 4
        )
        for row in islice(worst.values(), LOSSES):
            slot = "" if is_alone or not row.slot else row.slot
            place = f" ({wording.slot_text(slot)})" if slot else ""
            case = f"{row.tool_title}: {row.case.label}{place}"
            ratio = Entry(verdicts.ratio_text(row, ""), is_number=True)
            verdict = Entry(_verdict(row.shown.judgement))
            yield Line((Entry(names[row.system.id]), Entry(case), ratio, verdict))


def _verdict(judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    interval = verdicts.interval_text(judgement)
    doubt = _("flagged") if verdicts.is_flagged(judgement) else ""
    weak = _("weak evidence") if judgement.is_weak and judgement.is_assessed else ""
    text = "; ".join(filter(None, (verdicts.scoped_verdict(judgement), weak, doubt)))
    return f"{interval}: {text}" if interval else text


def flags_section(flags: Iterable[Flag]) -> Section:
    """Return what was found doubtful, the gravest first, and what was decided."""
    ranked = sorted(
        flags, key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk)
    )
    if not ranked:
        return Section("flags", _("Flags"), (_("Nothing was flagged."),))
    counts = Counter(flag.status for flag in ranked)
    by_status = ", ".join(
        f"{states.FLAG_STATUSES[status]} {counts[status]}"
        for status in Flag.Status.values
    )
    texts = [_("Flags by decision: %(counts)s.") % {"counts": by_status}]
    if len(ranked) > FLAGS:
        texts.append(_("The first %(n)s are shown.") % {"n": FLAGS})
    rows = []
    for flag in ranked[:FLAGS]:
        decisions = [
            f"{states.FLAG_STATUSES[decision.status]}, {decision.who}, "
            f"{decision.at.date().isoformat()}: {decision.note}"
            for decision in flag.decisions.all()
        ]
        rows.append(
            (
                flag.rule,
                str(states.SEVERITIES[flag.severity]),
                wording.said(flag.sentence),
                "; ".join(decisions) or str(states.FLAG_STATUSES[flag.status]),
            )
        )
    head = (_("Rule"), _("Severity"), _("Finding"), _("Decision"))
    table = plain_table(_("Flagged numbers"), head, rows, weights=(3, 2, 10, 3))
    return Section("flags", _("Flags"), texts, (table,))


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
    title = _("Factor effects")
    return Section("factor-effects", title, texts, tables, charts=charts)


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
    withheld = study.flags.withheld_cells()
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
    return Section("co-runs", _("Co-runs"), texts, tables, charts=charts)


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
    return Section("energy", _("Energy"), texts, tables, charts=charts)
