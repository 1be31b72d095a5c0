from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.analysis.session_intervals import SessionDesign, SessionRatio
from benchmarks.comparison.cell_details import (
    CellDetails,
    SessionComparison,
    session_comparisons,
)
from dashboard import wording
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    Chart,
    ChartAxis,
    ChartBand,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    row_height_px,
    symbol_style,
)
from dashboard.kit import formatting
from dashboard.kit.report_elements import ChartWithTable
from dashboard.wording import DASH, ratio_or_dash, value_with_unit, verdicts

ROW_PX: Final = 30


@dataclass(frozen=True)
class SessionRatioRow:
    name: str
    ratio: float
    low: float | None
    high: float | None
    text: str
    is_overall: bool = False
    strength: str = ""


def session_ratio_chart(
    marks: Sequence[SessionRatioRow], margin: float, axis_title: str
) -> Chart:
    rows = row_axis([row.name for row in marks])
    panel = Panel(
        x=ChartAxis(title=axis_title),
        y=rows,
        series=tuple(_points(row, mark) for row, mark in enumerate(marks)),
        bands=(ChartBand(axis="x", low=1 - margin, high=1 + margin),),
        reference_lines=(
            ReferenceLine(
                value=1, axis="x", ends=(-0.5, len(marks) - 0.5), is_above=True
            ),
        ),
    )
    return Chart(
        panels=(panel,),
        height=AXES_HEIGHT_PX + row_height_px(rows, ROW_PX) * len(marks),
        has_legend=False,
        has_outlines=False,
        has_names_above=False,
    )


def _points(row: int, mark: SessionRatioRow) -> Points:
    # The static SVG draws diamonds with a hole, but hollow markers have a meaning here.
    symbol, opacity = symbol_style(
        "square" if mark.is_overall else "circle", mark.strength
    )
    return Points(
        x=[mark.ratio],
        y=[row],
        low=[mark.low],
        high=[mark.high],
        interval_axis="x",
        interval_width=2,
        color="ink" if mark.is_overall else "series-2",
        symbol=symbol,
        size=12 if mark.is_overall else 9,
        opacity=opacity,
        hover_texts=[mark.text],
    )


MIN_LISTED_SESSIONS = 2  # with one session, its ratio is the ratio of the result
MAX_LISTED_SESSIONS = 60


def session_section(evidence: CellDetails, *, is_figure: bool) -> dict[str, Any]:
    """Return the template context of the sessions of a cell and its baseline.

    There are no ``lines`` until the sessions are computed. ``is_figure`` is
    whether both sides have a single value.
    """
    comparisons = session_comparisons(evidence.cell, evidence.baseline)
    charted_assessment = evidence.row.result.assessment
    if not is_figure or charted_assessment is None or charted_assessment.ratio is None:
        charted_assessment = None
    has_ratio = charted_assessment is not None
    note = ""
    if has_ratio and any(
        comparison.ratio and comparison.is_across_sessions for comparison in comparisons
    ):
        note = _(
            "The result and its baseline have no session in common. Each ratio "
            "compares one session of this result with all runs of the baseline, so "
            "it includes the variation between sessions."
        )
    lines = tuple(
        _line(
            comparison,
            evidence.cell.case.unit,
            evidence.cell.study_id,
            is_figure=is_figure,
            has_ratio=has_ratio,
        )
        for comparison in comparisons[:MAX_LISTED_SESSIONS]
    )
    assessment = evidence.row.result.assessment
    return {
        "lines": lines,
        "more_count": max(len(comparisons) - MAX_LISTED_SESSIONS, 0),
        "chart": _ratio_chart(evidence, comparisons, charted_assessment, note)
        if charted_assessment
        else None,
        "design": verdicts.design_text(assessment) if assessment else "",
        "spread": verdicts.session_spread_text(assessment) if assessment else "",
        "note": " ".join(filter(None, [note, _counted_note(comparisons)])),
    }


def _name(comparison: SessionComparison) -> str:
    if comparison.session is None:
        return _("start time unknown")
    counted = comparison.session.counted_sessions.all()
    return ", ".join([comparison.session.name, *(other.name for other in counted)])


def _counted_note(comparisons: Sequence[SessionComparison]) -> str:
    reasons = {
        wording.translate_text(other.counted_reason): None
        for comparison in comparisons
        if comparison.session is not None
        for other in comparison.session.counted_sessions.all()
    }
    if not reasons:
        return ""
    return _("Sessions in one row count as one: %(reasons)s.") % {
        "reasons": "; ".join(reasons)
    }


def _line(
    comparison: SessionComparison,
    unit: str,
    own_study: int,
    *,
    is_figure: bool,
    has_ratio: bool,
) -> dict[str, Any]:
    session = comparison.session
    own, other = (
        _figure(side.mean if is_figure else None, unit, side.n) if side else DASH
        for side in (comparison.cell_session, comparison.baseline_session)
    )
    ratio = comparison.ratio if has_ratio else None
    # Sessions of a baseline from another study are not on this study's page.
    is_of_study = session is not None and session.study_id == own_study
    return {
        "name": _name(comparison),
        "query": f"?session={session.pk}" if session and is_of_study else "",
        "own": own,
        "other": other,
        "ratio": ratio_or_dash(ratio.ratio) if ratio else DASH,
        "interval": _interval(comparison, ratio),
    }


def _figure(mean: float | None, unit: str, n: int) -> str:
    runs = wording.runs_text(n)
    return runs if mean is None else f"{value_with_unit(mean, unit)}, {runs}"


def _run_counts_text(own: int, other: int | None) -> str:
    return _("%(own)s vs. %(other)s") % {"own": own, "other": other}


def _interval(comparison: SessionComparison, ratio: SessionRatio | None) -> str:
    if ratio is None or not comparison.has_interval:
        return DASH
    return verdicts.ratio_interval_text((ratio.low, ratio.high))


def _ratio_chart(
    evidence: CellDetails,
    comparisons: Sequence[SessionComparison],
    assessment: CellAssessment,
    note: str,
) -> ChartWithTable | None:
    ratios = ((comparison, comparison.ratio) for comparison in comparisons)
    shown = [(comparison, ratio) for comparison, ratio in ratios if ratio is not None][
        :MAX_LISTED_SESSIONS
    ]
    if len(shown) < MIN_LISTED_SESSIONS or assessment.ratio is None:
        return None
    marks, rows = [], []
    for comparison, ratio in shown:
        has_interval = comparison.has_interval
        n = _run_counts_text(ratio.n, ratio.baseline_n)
        text = f"{_name(comparison)}: {ratio_or_dash(ratio.ratio)}"
        runs = _("runs: %(counts)s") % {"counts": n}
        interval = _interval(comparison, ratio)
        marks.append(
            SessionRatioRow(
                _name(comparison),
                ratio.ratio,
                ratio.low if has_interval else None,
                ratio.high if has_interval else None,
                f"{text} ({interval}), {runs}" if has_interval else f"{text}, {runs}",
                strength="hollow"
                if comparison.is_across_sessions or not has_interval
                else "",
            )
        )
        rows.append((_name(comparison), ratio_or_dash(ratio.ratio), interval, n))
    n = _run_counts_text(evidence.row.result.n, evidence.row.result.baseline_n)
    overall_name, has_interval = _("all sessions"), assessment.low is not None
    interval = verdicts.interval_text(assessment) or DASH
    scope = wording.translate_text(assessment.scope)
    ratio_text = formatting.ratio(assessment.ratio, assessment.interval)
    marks.append(
        SessionRatioRow(
            overall_name,
            assessment.ratio,
            assessment.low,
            assessment.high,
            f"{ratio_text} ({interval}), {scope}" if has_interval else ratio_text,
            is_overall=True,
            strength="hollow"
            if assessment.design == SessionDesign.SINGLE_RUN.slug
            else assessment.interval_style,
        )
    )
    rows.append((overall_name, ratio_text, interval, n))
    texts = [
        _(
            "Each dot is the ratio of one session. The square is the ratio of "
            "all sessions."
        )
    ]
    if any(mark.strength == "hollow" for mark in marks):
        texts.append(_("Hollow markers do not support a verdict on their own."))
    if marks[-1].strength == "faint":
        texts.append(
            _(
                "The square is faint because two sessions give little information "
                "about the variation between sessions."
            )
        )
    margin = evidence.cell.study.equivalence_margin_percent / 100
    return ChartWithTable(
        slug="sessions",
        title=_("Ratio of each session"),
        note=" ".join(filter(None, [*texts, note])),
        chart=session_ratio_chart(
            marks, margin, _("ratio with 95% confidence interval")
        ),
        header=(
            _("Session"),
            _("Ratio"),
            _("95% CI"),
            _("Runs"),
        ),
        rows=tuple(rows),
        is_truncated=len(comparisons) > MAX_LISTED_SESSIONS,
    )
