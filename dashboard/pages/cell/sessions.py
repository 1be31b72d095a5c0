"""What a cell's page says of its sessions: a table, a chart, what was repeated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.designs import Design, SessionRatio
from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.cell_evidence import CellEvidence, Sitting, cell_sittings
from dashboard import wording
from dashboard.charts.chart import (
    FRAME_PX,
    Axis,
    Band,
    Chart,
    Panel,
    Points,
    Rule,
    marked,
    row_axis,
    row_px,
)
from dashboard.kit import figures
from dashboard.kit.document import Drawing
from dashboard.wording import NONE, in_unit, shown_ratio, verdicts

ROW_PX: Final = 30


@dataclass(frozen=True)
class RatioMark:
    """A ratio in a row of its own; its interval may be missing."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    text: str
    is_whole: bool = False
    strength: str = ""


def session_ratio_chart(
    marks: Sequence[RatioMark], margin: float, axis_title: str
) -> Chart:
    """Return ratios on an axis with 1 and the band of equivalence, one row each."""
    rows = row_axis([mark.name for mark in marks])
    panel = Panel(
        x=Axis(title=axis_title),
        y=rows,
        series=tuple(_points(row, mark) for row, mark in enumerate(marks)),
        bands=(Band(axis="x", low=1 - margin, high=1 + margin),),
        rules=(Rule(at=1, axis="x", ends=(-0.5, len(marks) - 0.5), is_above=True),),
    )
    return Chart(
        panels=(panel,),
        height=FRAME_PX + row_px(rows, ROW_PX) * len(marks),
        has_legend=False,
        has_outlines=False,
        names_above=False,
    )


def _points(row: int, mark: RatioMark) -> Points:
    # No diamond: the sketch draws these hollow, which means something here.
    symbol, opacity = marked("square" if mark.is_whole else "circle", mark.strength)
    return Points(
        x=[mark.ratio],
        y=[row],
        low=[mark.low],
        high=[mark.high],
        along="x",
        interval_width=2,
        colour="ink" if mark.is_whole else "series-2",
        symbol=symbol,
        size=12 if mark.is_whole else 9,
        opacity=opacity,
        texts=[mark.text],
    )


FEWEST = 2  # a single session is the whole
MOST = 60


def session_words(evidence: CellEvidence, *, is_figure: bool) -> dict[str, Any]:
    """Return the sessions of both sides; nothing where none was looked at yet."""
    sittings = cell_sittings(evidence.cell, evidence.baseline)
    judged = evidence.row.shown.judgement
    if not is_figure or judged is None or judged.ratio is None:
        judged = None
    has_ratio = judged is not None
    note = ""
    if has_ratio and any(each.ratio and each.is_across_days for each in sittings):
        note = _(
            "No session has both sides: each ratio compares one session of this "
            "result with all runs of the baseline, and what sessions differ by is part "
            "of it."
        )
    lines = tuple(
        _line(
            each,
            evidence.cell.case.unit,
            evidence.cell.study_id,
            is_figure=is_figure,
            has_ratio=has_ratio,
        )
        for each in sittings[:MOST]
    )
    words = evidence.row.shown.judgement
    return {
        "lines": lines,
        "further": max(len(sittings) - MOST, 0),
        "drawing": _drawing(evidence, sittings, judged, note) if judged else None,
        "design": verdicts.design_text(words) if words else "",
        "spread": verdicts.spread_text(words) if words else "",
        "note": note,
    }


def _name(sitting: Sitting) -> str:
    return sitting.session.name if sitting.session else _("time unknown")


def _line(
    sitting: Sitting, unit: str, own_study: int, *, is_figure: bool, has_ratio: bool
) -> dict[str, Any]:
    session = sitting.session
    own, other = (
        _figure(side.mean if is_figure else None, unit, side.n) if side else NONE
        for side in (sitting.own, sitting.other)
    )
    ratio = sitting.ratio if has_ratio else None
    # A baseline of another study has its sessions there.
    is_ours = session is not None and session.study_id == own_study
    return {
        "name": _name(sitting),
        "query": f"?session={session.pk}" if session and is_ours else "",
        "own": own,
        "other": other,
        "ratio": shown_ratio(ratio.ratio) if ratio else NONE,
        "interval": _interval(sitting, ratio),
    }


def _figure(mean: float | None, unit: str, n: int) -> str:
    runs = wording.runs_text(n)
    return runs if mean is None else f"{in_unit(mean, unit)}, {runs}"


def _against(own: int, other: int | None) -> str:
    return _("%(own)s against %(other)s runs") % {"own": own, "other": other}


def _interval(sitting: Sitting, ratio: SessionRatio | None) -> str:
    if ratio is None or not sitting.has_interval:
        return NONE
    return verdicts.between((ratio.low, ratio.high))


def _drawing(
    evidence: CellEvidence, sittings: Sequence[Sitting], judged: Judgement, note: str
) -> Drawing | None:
    ratios = ((each, each.ratio) for each in sittings)
    drawn = [(each, ratio) for each, ratio in ratios if ratio is not None][:MOST]
    if len(drawn) < FEWEST or judged.ratio is None:
        return None
    marks, rows = [], []
    for sitting, ratio in drawn:
        has_interval = sitting.has_interval
        n = _against(ratio.n, ratio.baseline_n)
        text = f"{_name(sitting)}: {shown_ratio(ratio.ratio)}"
        interval = _interval(sitting, ratio)
        marks.append(
            RatioMark(
                _name(sitting),
                ratio.ratio,
                ratio.low if has_interval else None,
                ratio.high if has_interval else None,
                f"{text} ({interval}), {n}" if has_interval else f"{text}, {n}",
                strength="hollow" if sitting.is_across_days or not has_interval else "",
            )
        )
        rows.append((_name(sitting), shown_ratio(ratio.ratio), interval, n))
    n = _against(evidence.row.shown.n, evidence.row.shown.baseline_n)
    whole, has_interval = _("all of them"), judged.low is not None
    interval = verdicts.interval_text(judged) or NONE
    scope = wording.said(judged.scope)
    ratio_text = figures.ratio(judged.ratio, judged.interval)
    marks.append(
        RatioMark(
            whole,
            judged.ratio,
            judged.low,
            judged.high,
            f"{ratio_text} ({interval}), {scope}" if has_interval else ratio_text,
            is_whole=True,
            strength="hollow"
            if judged.design == Design.SINGLE_RUN.slug
            else judged.strength,
        )
    )
    rows.append((whole, ratio_text, interval, n))
    told = [_("A dot is the ratio of one session, the square that of all of them.")]
    if any(mark.strength == "hollow" for mark in marks):
        told.append(_("Hollow marks give no verdict by themselves."))
    if marks[-1].strength == "faint":
        told.append(
            _("It is faint: two sessions say little about how much sessions differ.")
        )
    margin = evidence.cell.study.equivalence_margin_percent / 100
    return Drawing(
        slug="sessions",
        title=_("Ratio of each session"),
        note=" ".join(filter(None, [*told, note])),
        figure=session_ratio_chart(
            marks, margin, _("ratio, with 95\N{NO-BREAK SPACE}% interval")
        ),
        head=(_("Session"), _("Ratio"), _("95\N{NO-BREAK SPACE}% interval"), _("Runs")),
        rows=tuple(rows),
        is_cut=len(sittings) > MOST,
    )
