"""One sentence that may be quoted, or the reason why there is none.

Its link carries the numbers, so that the page can compare them with the current ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.cell_evidence import CellEvidence, stated_differences
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ROW_FACTS, Fact, row_facts
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import address
from dashboard.wording import Text, states

PHRASES: Final[Mapping[str, Text]] = {
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
QUOTED: Final = "quoted"
NUMBER = r"(\d{1,9}(?:\.\d{1,12})?(?:e-\d{1,3})?)"
COUNT = r"([1-9]\d{0,8})"
FORM = re.compile(
    "_".join([*[NUMBER] * 3, *[COUNT] * 2, f"({'|'.join(PHRASES)})"]), re.ASCII
)


@dataclass(frozen=True)
class Claim:
    """A sentence that the data carry, and the address of what it rests on."""

    sentence: str
    link: str


@dataclass(frozen=True)
class NoClaim:
    """Why nothing may be claimed, and how many runs would help (or nothing)."""

    reasons: tuple[str, ...]
    advice: str


class Quoted(NamedTuple):
    """The numbers of a claim, as its sentence writes them."""

    ratio: str
    low: str
    high: str
    n: int
    baseline_n: int
    verdict: str

    def __str__(self) -> str:
        return "_".join(map(str, self))


def cell_claim(evidence: CellEvidence, *, page: str, baseline: str) -> Claim | NoClaim:
    """Return what may be claimed of a cell; ``baseline`` is a system's id."""
    query = {"baseline": baseline, QUOTED: str(quoted_of(evidence.row) or "")}
    against = ""
    if evidence.baseline is not None:
        system = evidence.baseline.system
        against = wording.system_name(system)
        if system.host_id != evidence.cell.system.host_id:
            against = _("%(system)s on host %(host)s") % {
                "system": against,
                "host": system.host.slug,
            }
    provisos = []
    if evidence.cell.system.is_emulated:
        provisos.append(
            _("It ran on a software emulator: this says nothing about real machines.")
        )
    listed = "; ".join(
        _("%(name)s %(one)s against %(other)s")
        % {
            "name": wording.property_name(differing.name),
            "one": wording.property_value(differing.name, differing.one),
            "other": wording.property_value(differing.name, differing.other),
        }
        for differing in stated_differences(evidence)
    )
    if listed:
        more = _("More than what is studied differs: %(listed)s.")
        provisos.append(more % {"listed": listed})
    return claim(
        evidence.row,
        equivalence_margin_percent=evidence.cell.study.equivalence_margin_percent,
        link=page + address(query),
        against=against,
        provisos=provisos,
    )


def claim(
    row: ComparisonRow,
    *,
    equivalence_margin_percent: float = 2.0,
    link: str = "",
    against: str = "",
    provisos: Sequence[str] = (),
) -> Claim | NoClaim:
    """Return what may be claimed of a cell: ratio, interval, runs and verdict.

    ``against`` names a reference system; ``provisos`` are required sentences.
    """
    judged, ratio = row.shown.judgement, row.shown.ratio
    if judged is None or ratio is None:
        reason = wording.said(row.shown.reason) or states.state_meaning(row.shown.state)
        return NoClaim((reason,), wording.said(judged.advice) if judged else "")
    if judged.verdict not in PHRASES or judged.low is None or judged.high is None:
        reasons = tuple(map(wording.said, judged.sentences))
        return NoClaim(reasons, wording.said(judged.advice))

    if row.shown.kind == "efficiency":
        sentence = _(
            "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of native"
            " in %(what)s, %(runs)s against %(baseline_runs)s, 95 %% interval:"
            " %(verdict)s."
        )
    else:
        sentence = _(
            "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of"
            " %(against)s in %(what)s, %(runs)s against %(baseline_runs)s, 95 %%"
            " interval: %(verdict)s."
        )
    # All that tells the case from others: parameters, VMs, load.
    facts = row_facts(row, ROW_FACTS)
    if row.scenario == "single":
        del facts["scenario"]
    stated = (wording.fact_text(Fact(*item)) for item in facts.items() if item[1])
    margin = figures.number(equivalence_margin_percent)
    verdict = str(PHRASES[judged.verdict]) % {"margin": margin}
    # The interval looks decided where the correction for many tests took the verdict.
    if judged.verdict != judged.direction and judged.sentences:
        why = wording.said(judged.sentences[0]).rstrip(".")
        verdict = f"{verdict} ({why[:1].lower()}{why[1:]})"
    if judged.scope:
        words = {"verdict": verdict, "scope": wording.said(judged.scope)}
        verdict = _("%(verdict)s, %(scope)s") % words
    sentence %= {
        "host": row.system.host.slug,
        "system": row.system.label,
        "ratio": figures.quoted_ratio(ratio),
        "low": figures.quoted_ratio(judged.low),
        "high": figures.quoted_ratio(judged.high),
        "what": f"{row.tool_title} ({' · '.join([row.case.label, *stated])})",
        "runs": wording.runs_text(row.shown.n),
        "baseline_runs": wording.runs_text(row.shown.baseline_n or 0),
        "verdict": verdict,
        "against": against or _("the reference system"),
    }
    return Claim(" ".join([sentence, *provisos]), link)


def quoted_of(row: ComparisonRow) -> Quoted | None:
    """Return what a claim about this cell quotes now; None where nothing may be."""
    judged, ratio = row.shown.judgement, row.shown.ratio
    if judged is None or ratio is None or judged.low is None or judged.high is None:
        return None
    with figures.for_files():
        written, low, high = (
            # As FORM reads them back, whatever the page's language: without groups.
            figures.quoted_ratio(value).replace(",", "")
            for value in (ratio, judged.low, judged.high)
        )
    counts = (row.shown.n, row.shown.baseline_n or 0)
    return Quoted(written, low, high, *counts, judged.verdict)


def quoted_in(text: str) -> Quoted | None:
    """Read what an address quotes; None for anything else that may stand there."""
    # The page shows it, and anybody can write an address: nothing else may stand in it.
    match = FORM.fullmatch(text)
    if match is None:
        return None
    ratio, low, high, n, baseline_n, verdict = match.groups()
    return Quoted(ratio, low, high, int(n), int(baseline_n), verdict)
