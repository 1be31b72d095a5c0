"""One comparison row as one cell of the page: its texts and its shade."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.comparing.cell_figures import Shown
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.verdicts import Mark
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import states, verdicts
from dashboard.wording.energy import energy_sentence, energy_texts
from dashboard.wording.verdicts import VALUE, ratio_text

# States that say nothing beyond the number; all others are spelled out in the cell.
SILENT = {"paired", "native", "metered"}
VALUES = {"native", "reference"}


@dataclass(frozen=True, slots=True)
class CellView:
    """What a cell shows. ``shade`` is empty where there is no ratio to shade."""

    id: int
    kind: str
    shade: str
    main: str
    sub: str
    n: str
    state: str
    sign: str = ""
    is_withheld: bool = False
    """Whether there is a ratio of which a flag lets nothing be said."""


def cell_view(
    row: ComparisonRow,
    mark: Mark | None = None,
    show: str = "efficiency",
    *,
    is_n_told: bool = True,
) -> CellView:
    """Return the texts of a cell; ``mark`` is its verdict where ``row`` has none.

    ``n`` is left out where a table tells that of all its cells at once.
    """
    ratio = row.shown.ratio
    if ratio is not None:
        kind, shade = "ratio", figures.heat(ratio)
    else:
        kind, shade = "value" if row.shown.full_state in VALUES else "plain", ""
    is_withheld = bool(mark and mark.is_flagged and shade)
    sign = (
        verdicts.FLAGGED if is_withheld else verdicts.verdict_sign(_verdict(row, mark))
    )
    main, sub = _texts(row, show)
    is_silent = row.shown.full_state in SILENT and bool(ratio or kind == "value")
    return CellView(
        id=row.id,
        kind=kind,
        shade=shade,
        main=main,
        sub=sub,
        n=f"n {row.shown.n}" if is_n_told else "",
        state="" if is_silent else _tag(row),
        sign=sign,
        is_withheld=is_withheld,
    )


def _verdict(row: ComparisonRow, mark: Mark | None) -> str:
    if mark:
        return mark.verdict
    if row.shown.is_energy:
        return ""  # The signs below the table are those of speeds.
    return row.shown.judgement.verdict if row.shown.judgement else ""


def _texts(row: ComparisonRow, show: str) -> tuple[str, str]:
    """Return what a cell says large and small."""
    if row.shown.is_energy:
        return energy_texts(row)
    if row.shown.ratio is None or show == VALUE:
        return row_figure(row.shown), row.shown.unit
    return ratio_text(row, show), wording.quantity(row.shown.value, row.shown.unit)


def full_figure(row: ComparisonRow) -> str:
    """Return a row's mean with its unit, or what stands for it.

    A single run with all its digits; what is computed has more than mean something.
    """
    is_whole = row.shown.n == 1 and not row.shown.is_energy
    figure = wording.quantity(row.shown.value, row.shown.unit, whole=is_whole)
    return figure or row_figure(row.shown, row.shown.unit)


def baseline_figure(row: ComparisonRow) -> str:
    """Return the mean that a row is set against, with its unit."""
    is_whole = row.shown.baseline_n == 1 and not row.shown.is_energy
    return wording.quantity(row.shown.baseline_value, row.shown.unit, whole=is_whole)


def row_figure(row: Shown, unit: str = "") -> str:
    """Return a row's mean, or what stands in its place: both speeds, or a range."""
    if row.value is not None:
        return wording.quantity(row.value, unit)
    ends = both_ends(row)
    if ends is None:
        return ""
    words = {"low": ends[0], "high": ends[1]}
    text = " | ".join(ends) if row.speeds else _("%(low)s to %(high)s") % words
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def both_ends(row: Shown) -> tuple[str, str] | None:
    """Return both speeds, or the ends of a range; None where there is one figure."""
    if row.speeds:
        low, high = figures.told_apart(*row.speeds)
    elif row.range is not None:
        low, high = row.range
    else:
        return None
    return figures.brief(low), figures.brief(high)


def _tag(row: ComparisonRow) -> str:
    state = row.shown.full_state
    if row.shown.speeds:
        return _("two speeds")
    return _("no ratio") if state == "paired" else states.state_name(state)


def sentence(row: ComparisonRow) -> str:
    """Return the cell in full: for the tooltip and for those who hear the page."""
    if row.shown.is_energy:
        return energy_sentence(row)
    ratio = row.shown.ratio
    runs = wording.runs_text(row.shown.n)
    if ratio is None:
        state = row.shown.full_state
        meaning = wording.said(row.shown.reason) or states.state_meaning(state)
        said = f"{full_figure(row)}, {runs}. {states.state_name(state)}: {meaning}"
        return said.rstrip(": ")
    words = {
        "ratio": figures.ratio(ratio),
        "value": full_figure(row),
        "baseline": baseline_figure(row),
        "runs": runs,
        "baseline_runs": wording.runs_text(row.shown.baseline_n or 0),
    }
    parts = (_against(row) % words, verdicts.judgement_sentence(row.shown.judgement))
    return " ".join(filter(None, [*parts, _caution(row)]))


def _against(row: ComparisonRow) -> str:
    if row.shown.scaling is not None:
        return _(
            "%(ratio)s times one machine alone: %(value)s in sum against "
            "%(baseline)s, %(runs)s against %(baseline_runs)s."
        )
    if row.shown.efficiency is None:
        return _(
            "%(ratio)s of the reference: %(value)s against %(baseline)s, "
            "%(runs)s against %(baseline_runs)s."
        )
    return _(
        "%(ratio)s of native: %(value)s against %(baseline)s, "
        "%(runs)s against %(baseline_runs)s."
    )


def _caution(row: ComparisonRow) -> str:
    return (
        ""
        if row.shown.state in {"paired", "relative"}
        else wording.said(row.shown.reason)
    )
