"""One sentence that may be quoted, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.selectors.comparison_row import ComparisonRow
from dashboard import figures, state_words, wording
from dashboard.wording import Text

SAYINGS: Final[Mapping[str, Text]] = {
    "slower": gettext_lazy("it is slower"),
    "faster": gettext_lazy("it is faster"),
    "equivalent": gettext_lazy("the two are equivalent"),
    "undetermined": gettext_lazy("whether it is slower or faster is undetermined"),
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


def claim(row: ComparisonRow, *, link: str = "", against: str = "") -> Claim | Refusal:
    """Return what may be claimed of a cell: ratio, interval, runs, and the verdict.

    ``link`` is the address of the cell's evidence and ``against`` names the reference
    system where the ratio is relative. Nothing is claimed where the verdict is refused.
    """
    judged, ratio = row.judgement, row.ratio
    if judged is None or ratio is None:
        reason = wording.said(row.reason) or state_words.state_meaning(row.state)
        return Refusal((reason,), wording.said(judged.advice) if judged else "")
    if judged.verdict not in SAYINGS or judged.low is None or judged.high is None:
        sentences = tuple(map(wording.said, judged.sentences))
        return Refusal(sentences, wording.said(judged.advice))
    words = {
        "host": row.host,
        "system": row.system,
        "ratio": figures.ratio(ratio),
        "low": figures.ratio(judged.low),
        "high": figures.ratio(judged.high),
        "what": f"{row.tool_title} ({row.case})",
        "runs": wording.runs_text(row.n),
        "baseline_runs": wording.runs_text(row.baseline_n or 0),
        "verdict": SAYINGS[judged.verdict],
        "against": against or _("the reference system"),
    }
    return Claim(_sentence(row) % words, link)


def _sentence(row: ComparisonRow) -> str:
    if row.efficiency is not None:
        return _(
            "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of native"
            " in %(what)s, %(runs)s against %(baseline_runs)s: %(verdict)s."
        )
    return _(
        "On host %(host)s, %(system)s gives %(ratio)s [%(low)s, %(high)s] of"
        " %(against)s in %(what)s, %(runs)s against %(baseline_runs)s: %(verdict)s."
    )
