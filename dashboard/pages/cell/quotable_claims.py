"""Sentences about a result that authors can quote, with a link to the result.

The link has the quoted numbers, so the page can show if they have changed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.cell_details import CellDetails, fact_differences
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import ROW_FACTS, Fact, row_facts
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.table_cells import failed_text
from dashboard.kit.url_parts import query_string
from dashboard.wording import Text, state_names

VERDICT_PHRASES: Final[Mapping[str, Text]] = {
    "slower": gettext_lazy("slower by more than %(margin)s%%"),
    "faster": gettext_lazy("faster by more than %(margin)s%%"),
    "equivalent": gettext_lazy("equivalent within %(margin)s%%"),
    "undetermined": gettext_lazy(
        "it is undetermined whether the difference exceeds %(margin)s%%"
    ),
}
QUOTED_PARAMETER: Final = "quoted"
QUOTED_NUMBER = r"(\d{1,9}(?:\.\d{1,12})?(?:e-\d{1,3})?)"
QUOTED_COUNT = r"([1-9]\d{0,8})"
QUOTE_PATTERN = re.compile(
    "_".join(
        [*[QUOTED_NUMBER] * 3, *[QUOTED_COUNT] * 2, f"({'|'.join(VERDICT_PHRASES)})"]
    ),
    re.ASCII,
)


@dataclass(frozen=True)
class QuotableClaim:
    sentence: str
    link: str


@dataclass(frozen=True)
class NoClaim:
    """Reasons why there is no claim, and advice on how to get one."""

    reasons: tuple[str, ...]
    advice: str


class QuotedNumbers(NamedTuple):
    ratio: str
    low: str
    high: str
    n: int
    baseline_n: int
    verdict: str

    def __str__(self) -> str:
        return "_".join(map(str, self))


def cell_claim(
    evidence: CellDetails, *, page: str, baseline: str
) -> QuotableClaim | NoClaim:
    query = {
        "baseline": baseline,
        QUOTED_PARAMETER: str(current_quote(evidence.row) or ""),
    }
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
            _(
                "The system ran on a software emulator, so this result does not "
                "apply to real machines."
            )
        )
    if failed := failed_text(evidence.row):
        provisos.append(_("Failed runs do not count: %(failed)s.") % {"failed": failed})
    differences = "; ".join(
        _("%(name)s (%(first)s vs. %(second)s)")
        % {
            "name": wording.property_name(difference.name),
            "first": wording.property_value(difference.name, difference.first),
            "second": wording.property_value(difference.name, difference.second),
        }
        for difference in fact_differences(evidence)
    )
    if differences:
        text = _("The result and its baseline also differ in: %(listed)s.")
        provisos.append(text % {"listed": differences})
    return build_claim(
        evidence.row,
        equivalence_margin_percent=evidence.cell.study.equivalence_margin_percent,
        link=page + query_string(query),
        against=against,
        provisos=provisos,
    )


def build_claim(
    row: ComparisonRow,
    *,
    equivalence_margin_percent: float = 2.0,
    link: str = "",
    against: str = "",
    provisos: Sequence[str] = (),
) -> QuotableClaim | NoClaim:
    """Return the claim about a row.

    ``provisos`` are sentences that must be quoted as well.
    """
    assessment, ratio = row.result.assessment, row.result.ratio
    if assessment is None or ratio is None:
        reason = wording.translate_text(row.result.reason) or state_names.state_meaning(
            row.result.state
        )
        return NoClaim(
            (reason,), wording.translate_text(assessment.advice) if assessment else ""
        )
    if (
        assessment.verdict not in VERDICT_PHRASES
        or assessment.low is None
        or assessment.high is None
    ):
        reasons = tuple(map(wording.translate_text, assessment.sentences))
        return NoClaim(reasons, wording.translate_text(assessment.advice))

    if row.result.ratio_kind == "efficiency":
        sentence = _(
            "On host %(host)s, %(system)s reaches %(ratio)s of native performance "
            "in %(what)s (95%% confidence interval [%(low)s, %(high)s]; %(runs)s "
            "compared with %(baseline_runs)s): %(verdict)s."
        )
    else:
        sentence = _(
            "On host %(host)s, %(system)s reaches %(ratio)s of the performance of "
            "%(against)s in %(what)s (95%% confidence interval [%(low)s, "
            "%(high)s]; %(runs)s compared with %(baseline_runs)s): %(verdict)s."
        )
    facts = row_facts(row, ROW_FACTS)
    if row.scenario == "single":
        del facts["scenario"]
    fact_texts = (wording.fact_text(Fact(*item)) for item in facts.items() if item[1])
    margin = formatting.number(equivalence_margin_percent)
    verdict = str(VERDICT_PHRASES[assessment.verdict]) % {"margin": margin}
    # The correction for multiple tests may remove a verdict despite a clear interval.
    if assessment.verdict != assessment.direction and assessment.sentences:
        why = wording.translate_text(assessment.sentences[0]).rstrip(".")
        verdict = f"{verdict} ({wording.lower_first(why)})"
    if assessment.scope:
        values = {"verdict": verdict, "scope": wording.translate_text(assessment.scope)}
        verdict = _("%(verdict)s, %(scope)s") % values
    sentence %= {
        "host": row.system.host.slug,
        "system": row.system.label,
        "ratio": formatting.quoted_ratio(ratio),
        "low": formatting.quoted_ratio(assessment.low),
        "high": formatting.quoted_ratio(assessment.high),
        "what": f"{row.tool_title} ({' · '.join([row.case.label, *fact_texts])})",
        "runs": wording.runs_text(row.result.n),
        "baseline_runs": wording.runs_text(row.result.baseline_n or 0),
        "verdict": verdict,
        "against": against or _("the reference system"),
    }
    return QuotableClaim(" ".join([sentence, *provisos]), link)


def current_quote(row: ComparisonRow) -> QuotedNumbers | None:
    assessment, ratio = row.result.assessment, row.result.ratio
    if (
        assessment is None
        or ratio is None
        or assessment.low is None
        or assessment.high is None
    ):
        return None
    with formatting.number_format_for_files():
        ratio_text, low, high = (
            # `QUOTE_PATTERN` does not allow thousands separators.
            formatting.quoted_ratio(value).replace(",", "")
            for value in (ratio, assessment.low, assessment.high)
        )
    counts = (row.result.n, row.result.baseline_n or 0)
    return QuotedNumbers(ratio_text, low, high, *counts, assessment.verdict)


def parse_quote(text: str) -> QuotedNumbers | None:
    # Anybody can write a link, and the page shows these texts: accept only numbers.
    match = QUOTE_PATTERN.fullmatch(text)
    if match is None:
        return None
    ratio, low, high, n, baseline_n, verdict = match.groups()
    return QuotedNumbers(ratio, low, high, int(n), int(baseline_n), verdict)
