"""The method of measuring on one page; docs/method.md has it in full."""

from django.utils.translation import gettext as _

from dashboard.report.document import Section


def method(band_percent: float) -> Section:
    """Return how numbers, intervals and verdicts come about."""
    band = band_percent / 100
    words = {
        "band": f"{band_percent:g}",
        "low": f"{1 - band:g}",
        "high": f"{1 + band:g}",
    }
    texts = (_runs(), _ratios(), _intervals(), _verdicts() % words, _across())
    return Section("method", _("Method"), texts)


def _runs() -> str:
    return _(
        "A run is one fresh start of a tool, and the unit of replication: what a run "
        "repeats within itself is collapsed to its mean. A cell is a system, a case "
        "and a scenario, and summarises its runs."
    )


def _ratios() -> str:
    return _(
        "Efficiency is VM / native for rates and native / VM for times: 1 is native "
        "speed, and overhead is 1 - efficiency. The baseline is the native cell of the "
        "same host, tool, case, guest OS and bits. Where a campaign has no native "
        "runs, ratios are to a reference system and are called relative."
    )


def _intervals() -> str:
    return _(
        "The 95 % interval is made on the log scale from n, mean and variance of both "
        "sides, with Welch-Satterthwaite degrees of freedom and the quantile of "
        "Student's t. Below 5 runs a side each side keeps its own quantile (MOVER). "
        "One run has no interval, 2 runs have a faint one, 3 or 4 are indicative; from "
        "5 runs a side on a verdict is given."
    )


def _verdicts() -> str:
    return _(
        "The verdict, with a band of %(band)s %%: slower if the interval lies wholly "
        "below %(low)s, faster if wholly above %(high)s, equivalent if wholly between "
        "them, else undetermined. It is refused, with its reason, where runs are too "
        "few, the baseline is missing, ambiguous, stale or too noisy, the readings "
        "have two speeds or an order, or a flag stands."
    )


def _across() -> str:
    return _(
        "Across cases the mean is geometric, only over cases that all compared systems "
        "have, and stands with its spread and its worst case. A flag never changes a "
        "number: it keeps the verdict from its cells until a person has decided."
    )
