"""What a claim was quoted with, so that its link can say whether that still stands.

A link leads to a page that follows its data: runs are added, flags are decided. So it
carries the numbers of its sentence, and the page sets them against its own.
"""

import re
from dataclasses import dataclass
from typing import Final

from benchmarks.comparing.row import ComparisonRow
from dashboard.kit.figures import for_files, ratio

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
