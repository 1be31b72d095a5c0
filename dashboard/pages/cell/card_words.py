"""The card of a cell in words, telling what the compare page's cells tell."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.models import System
from dashboard import wording
from dashboard.kit.table_cells import baseline_figure, full_figure
from dashboard.wording import states, verdicts
from dashboard.wording.energy import meter_text
from dashboard.wording.verdicts import VALUE, ratio_meaning, ratio_text, shown_interval


@dataclass(frozen=True)
class CardWords:
    """What a card says; ``main`` is large and empty where there is no ratio.

    ``lines`` are names and figures: both sides, and what else stands beside ``main``.
    ``lack`` says why there is no ratio.
    """

    lines: tuple[tuple[str, str], ...]
    main: str
    meaning: str
    interval: str
    sign: str
    verdict: str
    reasons: tuple[str, ...]
    lack: str


def card_words(
    row: ComparisonRow, system: System, baseline: System | None, show: str
) -> CardWords:
    """Return the card of a cell, whose cells show efficiency, overhead or energy."""
    said, ratio = row.shown.judgement, ratio_text(row, show)
    lines, interval = [*_sides(row, system, baseline)], shown_interval(row, show)
    is_value = show == VALUE and bool(full_figure(row))
    if is_value and ratio:
        lines.append((_("Ratio"), " ".join(filter(None, [ratio, _between(interval)]))))
    return CardWords(
        lines=tuple(lines),
        main=full_figure(row) if is_value else ratio,
        meaning=_meaning(row, show) if ratio or is_value else "",
        interval="" if is_value else interval,
        sign=verdicts.verdict_sign(said.verdict) if said and ratio else "",
        verdict=verdicts.verdict_words(said) if said and ratio else "",
        reasons=tuple(_reasons(row)) if ratio else (),
        lack="" if ratio else _lack(row),
    )


def _meaning(row: ComparisonRow, show: str) -> str:
    if show == VALUE:
        return _("measured value")
    is_energy = row.shown.is_energy
    return ratio_meaning(show, is_energy=is_energy) or _against_what(row)


def _against_what(row: ComparisonRow) -> str:
    if row.shown.scaling is not None:
        return _("times one machine alone")
    return _("of native") if row.shown.efficiency is not None else _("of the reference")


def _between(interval: str) -> str:
    return f"({interval})" if interval else ""


def _sides(
    row: ComparisonRow, system: System, baseline: System | None
) -> Iterator[tuple[str, str]]:
    figure = full_figure(row)
    if figure:
        yield wording.system_name(system), f"{figure}, {wording.runs_text(row.shown.n)}"
    if baseline is not None and row.shown.baseline_value is not None:
        name = _("against %(name)s") % {"name": wording.system_name(baseline)}
        yield (
            name,
            f"{baseline_figure(row)}, {wording.runs_text(row.shown.baseline_n or 0)}",
        )
    if meter := meter_text(row):
        yield _("Metered"), meter


def _reasons(row: ComparisonRow) -> Iterator[str]:
    """Yield what decided, or what stands against a verdict or an interval."""
    if row.shown.judgement:
        yield from verdicts.reasons(row)
        if row.shown.judgement.advice:
            yield wording.said(row.shown.judgement.advice)
    elif row.shown.is_energy and row.shown.reason:
        yield wording.said(row.shown.reason)


def _lack(row: ComparisonRow) -> str:
    state = row.shown.full_state
    why = wording.said(row.shown.reason) or states.state_meaning(state)
    return f"{states.state_name(state)}: {why}".rstrip(": ")
