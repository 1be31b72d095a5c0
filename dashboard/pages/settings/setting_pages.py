from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparison.setting_changes import OptionChange
from benchmarks.comparison.setting_effects import (
    DECIDED,
    OptionEffects,
    SettingEffect,
    case_names,
)
from benchmarks.system_options import VOCABULARY, SystemOption
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot
from dashboard.kit import formatting
from dashboard.kit.report_elements import ChartWithTable
from dashboard.kit.study_sources import sources_of_studies
from dashboard.wording import DASH, verdicts

MAX_ROWS: Final = 40
"""Rows of a chart."""
NO_VERDICT: Final = "not_assessed"
SERIES: Final = ("faster", "slower", "equivalent", "undetermined", NO_VERDICT)


def settings_page(options: Sequence[OptionEffects]) -> dict[str, Any]:
    measured = {option.option.name for option in options}
    effects = {
        (effect.row.id, effect.reference.pk): effect
        for option in options
        for effect in option.effects
    }.values()
    return {
        "answer": _overall_answer(options, list(effects)),
        "chart": _overview_chart(options),
        "options": [_overview_row(option) for option in options],
        "sources": sources_of_studies(effect.study for effect in effects),
        "missing": [
            (str(option_title(option)), _option_url(option))
            for name, option in VOCABULARY.items()
            if name == option.name and name not in measured
        ],
    }


def option_page(option: SystemOption, found: OptionEffects | None) -> dict[str, Any]:
    cases = case_names(found.effects if found else ())
    return {
        "option": option,
        "title": option_title(option),
        "explanation": _explanation(option),
        "values": ", ".join(option.values),
        "answer": option_answer(found) if found else "",
        "chart": _option_chart(found, cases) if found else None,
        "rows": [_effect_row(found.option, effect, cases) for effect in found.main]
        if found
        else (),
        "others": [
            _effect_row(found.option, effect, cases)
            for effect in found.effects
            if effect not in found.main
        ]
        if found
        else (),
        "are_combined": bool(found and found.fewest_others),
        "sources": sources_of_studies(effect.study for effect in found.effects)
        if found
        else (),
    }


def option_title(option: SystemOption) -> str:
    return _(option.title) if option.explanation else option.title


def _explanation(option: SystemOption) -> str:
    return _(option.explanation) if option.explanation else ""


def option_answer(found: OptionEffects) -> str:
    parts = []
    for verdict, text in (
        ("faster", _("faster in %(n)s (%(range)s)")),
        ("slower", _("slower in %(n)s (%(range)s)")),
    ):
        if ratios := found.decided_ratios(verdict):
            values = {"n": len(ratios), "range": _ratio_range(ratios)}
            parts.append(text % values)
    counts = found.verdict_counts
    if n := counts["equivalent"]:
        parts.append(_("equivalent in %(n)s") % {"n": n})
    if n := len(found.main) - sum(counts[verdict] for verdict in DECIDED):
        parts.append(_("undecided in %(n)s") % {"n": n})
    results = ngettext("%(n)s result", "%(n)s results", len(found.main))
    machines = len({effect.row.system.host_id for effect in found.main})
    values = {
        "option": option_title(found.option),
        "results": results % {"n": len(found.main)},
        "machines": ngettext("%(n)s machine", "%(n)s machines", machines)
        % {"n": machines},
        "parts": ", ".join(parts),
    }
    sentences = [_("%(option)s, %(results)s on %(machines)s: %(parts)s.") % values]
    if counts["faster"] and counts["slower"]:
        sentences.append(_("The effect depends on the work."))
    if found.fewest_others:
        names = sorted(
            {
                option_title(change.option)
                for effect in found.main
                for change in effect.others(found.option)
            }
        )
        text = _("No study changed it alone; it changed together with: %(names)s.")
        sentences.append(text % {"names": ", ".join(names)})
    return " ".join(sentences)


def effect_records(option: OptionEffects) -> Iterator[dict[str, Any]]:
    for effect in option.effects:
        change, row = effect.change_of(option.option), effect.row
        low, high = effect.interval or (None, None)
        yield {
            "option": option.option.name,
            "before": change.before,
            "after": change.after,
            "other_changes": "; ".join(
                f"{other.option.name}: {other.before} -> {other.after}"
                for other in effect.others(option.option)
            ),
            "study": effect.study.slug,
            "lab": effect.study.lab.slug,
            "data_licence": effect.study.data_licence,
            "host": row.system.host.slug,
            "system": row.system.label,
            "reference": effect.reference.label,
            "tool": row.case.tool,
            "metric": row.case.metric,
            "parameters": row.case.parameters,
            "scenario": row.scenario,
            "runs": row.result.n,
            "reference_runs": row.result.baseline_n,
            "ratio": effect.ratio,
            "low": low,
            "high": high,
            "verdict": effect.verdict,
            "cell": row.id,
        }


RECORD_FIELDS: Final = (
    *("option", "before", "after", "other_changes", "study", "lab", "data_licence"),
    *("host", "system", "reference", "tool", "metric", "parameters", "scenario"),
    *("runs", "reference_runs", "ratio", "low", "high", "verdict", "cell"),
)


def _overall_answer(
    options: Sequence[OptionEffects], effects: Sequence[SettingEffect]
) -> str:
    if not options:
        return _("No study has varied a setting yet.")
    with_verdict = [effect for effect in effects if effect.verdict in DECIDED]
    clear = [effect for effect in with_verdict if effect.verdict != "equivalent"]
    studies = len({effect.study.pk for effect in effects})
    text = _(
        "%(options)s settings varied in %(studies)s studies: of %(n)s results with a "
        "verdict, %(clear)s differ from the reference setting by more than the "
        "equivalence margin."
    )
    if not with_verdict:
        text = _(
            "%(options)s settings varied in %(studies)s studies. No result has a "
            "verdict yet."
        )
    values = {
        "options": len(options),
        "studies": studies,
        "n": len(with_verdict),
        "clear": len(clear),
    }
    strongest = max(
        (o for o in options if o.option.explanation and o.decided_ratios("faster")),
        key=lambda o: o.decided_ratios("faster")[-1],
        default=None,
    )
    if strongest is None:
        return text % values
    best = _("The largest gain is %(ratio)s (%(option)s).") % {
        "ratio": _ratio_text(strongest.decided_ratios("faster")[-1]),
        "option": option_title(strongest.option),
    }
    return f"{text % values} {best}"


def _overview_chart(options: Sequence[OptionEffects]) -> ChartWithTable | None:
    cases = case_names(effect for option in options for effect in option.main)
    shown = [o for o in options if any(e.verdict in DECIDED for e in o.main)]
    dots = [
        dot
        for row, option in enumerate(shown)
        for effect in option.main
        if effect.verdict in DECIDED
        for dot in _dots(
            row, SERIES.index(effect.verdict), effect, _subject(effect, cases)
        )
    ]
    chart = dot_plot(
        [option_title(option.option) for option in shown],
        [DotSeries(*2 * (verdicts.verdict_name(name),)) for name in SERIES],
        dots,
        axis_title=_("relative to the reference setting (1 = equal)"),
    )
    return _with_table(
        _("Results with a verdict, by setting"),
        chart,
        (_("Setting"), _("faster"), _("slower"), _("equivalent")),
        [
            (
                option_title(option.option),
                *(_ratio_range(option.decided_ratios(v)) for v in DECIDED),
            )
            for option in shown
        ],
    )


def _overview_row(option: OptionEffects) -> dict[str, Any]:
    counts = option.verdict_counts
    decided = sum(counts[verdict] for verdict in DECIDED)
    values = {effect.change_of(option.option).after for effect in option.main}
    shown = sorted(value for value in values if value)[:4]
    return {
        "title": option_title(option.option),
        "url": _option_url(option.option),
        "explanation": _explanation(option.option),
        "values": ", ".join(shown) + (" …" if len(values) > len(shown) else ""),
        "faster": _count_and_range(option, "faster"),
        "slower": _count_and_range(option, "slower"),
        "equivalent": counts["equivalent"] or DASH,
        "open": len(option.main) - decided or DASH,
        "studies": len(option.studies),
        "is_combined": bool(option.fewest_others),
    }


def _count_and_range(option: OptionEffects, verdict: str) -> str:
    ratios = option.decided_ratios(verdict)
    return f"{len(ratios)} ({_ratio_range(ratios)})" if ratios else DASH


def _option_chart(
    found: OptionEffects, cases: Mapping[int, str]
) -> ChartWithTable | None:
    with_ratio = [effect for effect in found.main if effect.ratio is not None]
    names = list(dict.fromkeys(_subject(e, cases) for e in with_ratio))[:MAX_ROWS]
    levels = list(dict.fromkeys(_level(found.option, e) for e in with_ratio))
    dots = [
        dot
        for effect in with_ratio
        if (name := _subject(effect, cases)) in names
        for dot in _dots(
            names.index(name),
            levels.index(_level(found.option, effect)),
            effect,
            name,
        )
    ]
    chart = dot_plot(
        names,
        [DotSeries(level, level) for level in levels],
        dots,
        axis_title=_("relative to the reference setting (1 = equal)"),
    )
    ratios: dict[str, dict[str, str]] = defaultdict(dict)
    for effect in with_ratio:
        text = _ratio_text(effect.ratio, effect.interval)
        ratios[_subject(effect, cases)][_level(found.option, effect)] = text
    return _with_table(
        _("Effect by benchmark"),
        chart,
        (_("Benchmark"), *levels),
        [
            (name, *(ratios[name].get(level, DASH) for level in levels))
            for name in names
        ],
    )


def _with_table(
    title: str,
    chart: Chart | None,
    header: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> ChartWithTable | None:
    if chart is None:
        return None
    note = _(
        "Right of 1 is better than the reference setting, also for times. Hollow: no "
        "verdict."
    )
    return ChartWithTable("effects", title, note, chart, header, tuple(rows))


def _dots(row: int, series: int, effect: SettingEffect, name: str) -> Iterator[Dot]:
    if effect.ratio is None:
        return
    sentence = verdicts.assessment_sentence(effect.row.result.assessment)
    changes = ", ".join(map(change_text, effect.changes))
    yield Dot(
        row,
        series,
        effect.ratio,
        f"{name}: {_ratio_text(effect.ratio, effect.interval)}",
        f"{changes}. {sentence}",
        "" if effect.verdict in DECIDED else "hollow",
        effect.interval,
    )


def _effect_row(
    option: SystemOption, effect: SettingEffect, cases: Mapping[int, str]
) -> dict[str, Any]:
    row, study = effect.row, effect.study
    others = list(map(change_text, effect.others(option)))
    assessment = row.result.assessment
    reasons = (
        []
        if effect.verdict != NO_VERDICT
        else [wording.translate_text(text) for text in row.result.verdict_reasons[:1]]
    )
    return {
        "benchmark": _benchmark(effect, cases),
        "url": reverse("dashboard:cell", args=[study.lab.slug, study.slug, row.id]),
        "study": study.title,
        "study_url": reverse("dashboard:study", args=[study.lab.slug, study.slug]),
        "system": wording.system_name(row.system),
        "host": row.system.host.slug,
        "change": _values_text(effect.change_of(option)),
        "others": _("with %(changes)s") % {"changes": ", ".join(others)}
        if others
        else "",
        "ratio": verdicts.ratio_text(row, "")
        or verdicts.ratio_range_text(row, "")
        or DASH,
        "interval": verdicts.displayed_interval(row, "") or DASH,
        "runs": f"{row.result.n} / {row.result.baseline_n or DASH}",
        "verdict": verdicts.verdict_text(assessment)
        if assessment
        else verdicts.verdict_name(NO_VERDICT),
        "reason": " ".join(reasons),
    }


def change_text(change: OptionChange) -> str:
    """Return a change as text: "Huge pages: not stated → 2 MiB"."""
    return f"{option_title(change.option)}: {_values_text(change)}"


def _values_text(change: OptionChange) -> str:
    before, after = (value or _("not stated") for value in change[1:])
    return f"{before} → {after}"


def _level(option: SystemOption, effect: SettingEffect) -> str:
    others = [
        f"{option_title(change.option)} {change.after}"
        for change in effect.others(option)
    ]
    own = effect.change_of(option)
    return ", ".join([own.after or _("not stated"), *others])


def _benchmark(effect: SettingEffect, cases: Mapping[int, str]) -> str:
    row = effect.row
    label = cases[row.case.pk]
    if row.scenario == "single":
        return label
    return f"{label} ({wording.scenario_name(row.scenario)})"


def _subject(effect: SettingEffect, cases: Mapping[int, str]) -> str:
    return f"{_benchmark(effect, cases)}, {effect.row.system.host.slug}"


def _ratio_text(
    ratio: float | None, interval: tuple[float, float] | None = None
) -> str:
    return DASH if ratio is None else formatting.ratio(ratio, interval)


def _ratio_range(ratios: Sequence[float]) -> str:
    if not ratios:
        return DASH
    low, high = formatting.ratio(ratios[0]), formatting.ratio(ratios[-1])
    return low if low == high else wording.range_text(low, high)


def _option_url(option: SystemOption) -> str:
    return reverse("dashboard:setting", args=[option.slug])


def option_of_slug(
    slug: str, measured: Mapping[str, OptionEffects]
) -> SystemOption | None:
    if slug in measured:
        return measured[slug].option
    return VOCABULARY.get(slug.replace("-", "_"))
