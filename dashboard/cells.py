"""One comparison row as one cell of the page: its texts and its shade."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.selectors.comparisons import ComparisonRow
from dashboard import figures, judging, wording

# States that say nothing beyond the number; all others are spelled out in the cell.
SILENT = {"paired", "native"}
VALUES = {"native", "reference"}


@dataclass(frozen=True)
class CellView:
    """What a cell shows. ``shade`` is empty where there is no ratio to shade."""

    id: int
    kind: str
    shade: str
    main: str
    sub: str
    n: int
    state: str
    sentence: str
    sign: str = ""


def ratio_of(row: ComparisonRow) -> float | None:
    """Return the efficiency, the ratio to a reference system, or the scaling."""
    ratios = (row.efficiency, row.relative, row.scaling)
    return next((ratio for ratio in ratios if ratio is not None), None)


def cell_view(row: ComparisonRow) -> CellView:
    """Return the texts of a cell."""
    ratio = ratio_of(row)
    value = wording.quantity(row.value, row.unit)
    if ratio is not None:
        kind, shade = "ratio", figures.heat(ratio)
        main, sub = figures.ratio(ratio), value
    else:
        kind, shade = ("value" if row.state in VALUES else "plain"), ""
        main, sub = figures.brief(row.value) if row.value is not None else "", row.unit
    return CellView(
        id=row.id,
        kind=kind,
        shade=shade,
        main=main,
        sub=sub,
        n=row.n,
        state="" if row.state in SILENT and (ratio or kind == "value") else _tag(row),
        sentence=sentence(row),
        sign=judging.verdict_sign(row.judgement),
    )


def _tag(row: ComparisonRow) -> str:
    return _("no ratio") if row.state == "paired" else wording.state_name(row.state)


def sentence(row: ComparisonRow) -> str:
    """Return the cell in full: for the tooltip and for those who hear the page."""
    ratio = ratio_of(row)
    value = wording.quantity(row.value, row.unit, whole=True)
    runs = wording.runs_text(row.n)
    if ratio is None:
        meaning = row.reason or wording.state_meaning(row.state)
        said = f"{value}, {runs}. {wording.state_name(row.state)}: {meaning}"
        return said.rstrip(": ")
    baseline = wording.quantity(row.baseline_value, row.unit, whole=True)
    words = {
        "ratio": figures.ratio(ratio),
        "value": value,
        "baseline": baseline,
        "runs": runs,
        "baseline_runs": wording.runs_text(row.baseline_n or 0),
    }
    parts = (_against(row) % words, judging.judgement_sentence(row.judgement))
    return " ".join(filter(None, [*parts, _caution(row)]))


def _against(row: ComparisonRow) -> str:
    if row.scaling is not None:
        return _(
            "%(ratio)s times one machine alone: %(value)s in sum against "
            "%(baseline)s, %(runs)s against %(baseline_runs)s."
        )
    if row.efficiency is None:
        return _(
            "%(ratio)s of the reference: %(value)s against %(baseline)s, "
            "%(runs)s against %(baseline_runs)s."
        )
    return _(
        "%(ratio)s of native: %(value)s against %(baseline)s, "
        "%(runs)s against %(baseline_runs)s."
    )


def _caution(row: ComparisonRow) -> str:
    return "" if row.state in {"paired", "relative"} else row.reason
