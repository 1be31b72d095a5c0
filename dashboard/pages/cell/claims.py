"""One sentence that may be quoted, or the reason why there is none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.baselines import Difference
from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.evidence import Evidence, sides_compared, stated_differences
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ROW_FACTS, Fact, row_facts
from benchmarks.models import Cell
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import address
from dashboard.kit.figures import for_files, ratio
from dashboard.wording import Text, states

NAME: Final = "quoted"
NUMBER = r"(\d{1,9}(?:\.\d{1,12})?(?:e-\d{1,3})?)"
COUNT = r"([1-9]\d{0,8})"
VERDICT = "(slower|faster|equivalent|undetermined)"
FORM = re.compile("_".join([*[NUMBER] * 3, *[COUNT] * 2, VERDICT]), re.ASCII)


@dataclass(frozen=True)
class Quoted:
    """The numbers of a claim, as its sentence writes them."""

    ratio: str
    low: str
    high: str
    n: int
    baseline_n: int
    verdict: str

    def __str__(self) -> str:
        """Return it as it stands in an address."""
        parts = (self.ratio, self.low, self.high, self.n, self.baseline_n, self.verdict)
        return "_".join(map(str, parts))


def quoted_of(row: ComparisonRow) -> Quoted | None:
    """Return what a claim about this cell quotes now; None where nothing may be."""
    judged = row.shown.judgement
    if (
        judged is None
        or row.shown.ratio is None
        or judged.low is None
        or judged.high is None
    ):
        return None
    return Quoted(
        _plain(row.shown.ratio),
        _plain(judged.low),
        _plain(judged.high),
        n=row.shown.n,
        baseline_n=row.shown.baseline_n or 0,
        verdict=judged.verdict,
    )


def _plain(value: float) -> str:
    with for_files():
        return ratio(value).replace(",", "")


def quoted_in(text: str) -> Quoted | None:
    """Read it from an address; None for anything else that may stand there."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    told, low, high, n, baseline_n, verdict = found.groups()
    return Quoted(told, low, high, int(n), int(baseline_n), verdict)


SAYINGS: Final[Mapping[str, Text]] = {
    "slower": gettext_lazy("it is slower by more than %(margin)s\N{NO-BREAK SPACE}%%"),
    "faster": gettext_lazy("it is faster by more than %(margin)s\N{NO-BREAK SPACE}%%"),
    "equivalent": gettext_lazy(
        "the two are equivalent within %(margin)s\N{NO-BREAK SPACE}%%"
    ),
    "undetermined": gettext_lazy(
        "whether they differ by more than %(margin)s\N{NO-BREAK SPACE}%% is "
        "undetermined"
    ),
}


@dataclass(frozen=True)
class Claim:
    """A sentence that the data carry, and the address of what it rests on."""

    sentence: str
    link: str


@dataclass(frozen=True)
class Refusal:
    """Why nothing may be claimed, and how many runs would help (or nothing)."""

    reasons: tuple[str, ...]
    advice: str


def cell_claim(found: Evidence, *, page: str, baseline: str) -> Claim | Refusal:
    """Return what may be claimed of a cell, against native or a chosen baseline.

    ``page`` is the address of the cell's page without a query, ``baseline`` the id of
    the chosen system. The link carries the numbers, so that the page can say later
    whether they still stand (`dashboard.pages.cell.claims`).
    """
    query = {"baseline": baseline, NAME: str(quoted_of(found.row) or "")}
    return claim(
        found.row,
        equivalence_margin_percent=found.cell.study.equivalence_margin_percent,
        link=page + address(query),
        against=_named(found.baseline, found.cell),
        provisos=tuple(_provisos(found)),
    )


def claim(
    row: ComparisonRow,
    *,
    equivalence_margin_percent: float = 2.0,
    link: str = "",
    against: str = "",
    provisos: Sequence[str] = (),
) -> Claim | Refusal:
    """Return what may be claimed of a cell: ratio, interval, runs, and the verdict.

    ``link`` is the address of the cell's evidence and ``against`` names the reference
    system where the ratio is relative; ``provisos`` are sentences without which the
    claim would mislead. Nothing is claimed of what is not assessed.
    """
    judged, ratio = row.shown.judgement, row.shown.ratio
    if judged is None or ratio is None:
        reason = wording.said(row.shown.reason) or states.state_meaning(row.shown.state)
        return Refusal((reason,), wording.said(judged.advice) if judged else "")
    if judged.verdict not in SAYINGS or judged.low is None or judged.high is None:
        sentences = tuple(map(wording.said, judged.sentences))
        return Refusal(sentences, wording.said(judged.advice))
    words = {
        "host": row.system.host,
        "system": row.system.label,
        "ratio": figures.ratio(ratio),
        "low": figures.ratio(judged.low),
        "high": figures.ratio(judged.high),
        "what": f"{row.case.tool_title} ({_what(row)})",
        "runs": wording.runs_text(row.shown.n),
        "baseline_runs": wording.runs_text(row.shown.baseline_n or 0),
        "verdict": _verdict(judged, equivalence_margin_percent),
        "against": against or _("the reference system"),
    }
    return Claim(" ".join([_sentence(row) % words, *provisos]), link)


def _sentence(row: ComparisonRow) -> str:
    if row.shown.efficiency is not None:
        return _(
            "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of native"
            " in %(what)s, %(runs)s against %(baseline_runs)s, 95 %% interval:"
            " %(verdict)s."
        )
    return _(
        "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of"
        " %(against)s in %(what)s, %(runs)s against %(baseline_runs)s, 95 %% interval:"
        " %(verdict)s."
    )


def _what(row: ComparisonRow) -> str:
    """Return the case with all that tells it from others: parameters, VMs, load."""
    facts = row_facts(row, ROW_FACTS)
    if row.scenario == "single":
        del facts["scenario"]
    told = (wording.fact_text(Fact(*item)) for item in facts.items() if item[1])
    return " · ".join([row.case.label, *told])


def _verdict(judged: Judgement, equivalence_margin_percent: float) -> str:
    margin = figures.number(equivalence_margin_percent)
    said = str(SAYINGS[judged.verdict]) % {"margin": margin}
    if judged.verdict == judged.direction or not judged.sentences:
        return said
    why = wording.said(judged.sentences[0]).rstrip(".")
    return f"{said} ({why[:1].lower()}{why[1:]})"


def _named(baseline: Cell | None, cell: Cell) -> str:
    """Return the reference system, with its host where that is another machine."""
    if baseline is None:
        return ""
    name = wording.system_name(baseline.system)
    if baseline.system.host_id == cell.system.host_id:
        return name
    words = {"system": name, "host": baseline.system.host.slug}
    return _("%(system)s on host %(host)s") % words


def _provisos(found: Evidence) -> Iterator[str]:
    cell, baseline = found.cell, found.baseline
    if cell.system.is_emulated:
        yield _("It ran on a software emulator: this says nothing of real machines.")
    if baseline is None:
        return
    sides = ([each.run for each in runs] for runs in (found.runs, found.baseline_runs))
    compared = sides_compared(cell, baseline, *sides)
    if differing := stated_differences(cell, baseline, compared):
        listed = "; ".join(map(_difference, differing))
        yield _("More than what is studied differs: %(listed)s.") % {"listed": listed}


def _difference(found: Difference) -> str:
    name = wording.property_name(found.name)
    one = wording.property_value(found.name, found.one)
    other = wording.property_value(found.name, found.other)
    words = {"name": name, "one": one, "other": other}
    return _("%(name)s %(one)s against %(other)s") % words
