"""The method of measuring on one page; docs/method.md has it in full."""

from collections.abc import Container, Mapping
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.models import Study
from dashboard.kit.document import Section
from dashboard.wording import Text

EVERYWHERE: Final[tuple[Text, ...]] = (
    gettext_lazy(
        "A run is one fresh start of a tool, and the unit of replication: what a run "
        "repeats within itself is collapsed to its mean. A result is a benchmark "
        "on a system in a scenario, and summarises its runs."
    ),
    gettext_lazy(
        "Relative performance is VM / native for rates and native / VM for times: 1 is "
        "native speed, and overhead is 1 minus it. The baseline is the native result "
        "of "
        "the same host, tool, benchmark and bits, with the guest's OS if it ran "
        "natively. "
        "It is outdated if it lies more than %(days)s days away or the machine ran "
        "another kernel or firmware. Where "
        "several baselines fit that differ by more than %(margin)s %%, none is taken. "
        "Where a study has no native runs, ratios are to a reference system and are "
        "called relative."
    ),
    gettext_lazy(
        "Before a result gets a single figure its runs are looked at in their order: "
        "for bimodal runs (two speeds; from 5 runs on, at 1\N{NO-BREAK SPACE}%% false "
        "alarms), for "
        "patterns and drifts in time (from 8 runs on, by permutation, "
        "1\N{NO-BREAK SPACE}%%) and for a "
        "first run unlike the others. A result that fails is shown as what it is and "
        "gets no mean. Outliers are labelled and never left out."
    ),
    gettext_lazy(
        "The 95\N{NO-BREAK SPACE}%% interval is made on the log scale from n, mean "
        "and variance of both "
        "sides, with Welch-Satterthwaite degrees of freedom and the quantile of "
        "Student's t. Below 5 runs a side each side keeps its own quantile (MOVER). "
        "One run has no interval, 2 runs have a faint one, 3 or 4 are indicative; from "
        "5 runs a side on a verdict is given."
    ),
    gettext_lazy(
        "Runs of one sitting, a session, say nothing about another. Where both sides "
        "ran in three sessions or more, each session gives one ratio and the interval "
        "is theirs; of sessions that are not shared their means are compared. In one "
        "shared session the verdict holds for it alone. Sides in sessions of their own "
        "that were never repeated are drawn hollow and get no verdict."
    ),
    gettext_lazy(
        "The verdict, with an equivalence margin of %(margin)s %%: slower if the "
        "interval lies wholly below %(low)s, faster if wholly above %(high)s, "
        "equivalent if wholly between them, else undetermined. A result is not "
        "assessed, "
        "with its reason, where runs are too few, the baseline is missing, outdated, "
        "one of several or too noisy, the readings are bimodal, their order moves the "
        "ratio, or a flag is open. Where every run of one side lies beyond every run "
        "of the other by more than the margin, that is said all the same."
    ),
    gettext_lazy(
        "The mean over benchmarks is geometric, of those that all compared systems "
        "have, and stands with its spread and its worst benchmark. A flag never "
        "changes a number. Unless it is a check only, it keeps the verdict from its "
        "results until a person has decided."
    ),
    gettext_lazy(
        "Whose clock timed a number is said in the table of benchmarks. A guest's "
        "clock that is more than 50 ms off, or drifts by more than 500 ppm during a "
        "run, is suspect, and its results are not assessed. What a tool printed is not "
        "recomputed."
    ),
)
# Of the sections that need a method of their own, by their names.
OF_SECTIONS: Final[Mapping[str, Text]] = {
    "factor-effects": gettext_lazy(
        "Factor effects: a system's response is the logarithm of its relative "
        "performance (of its value where there is none), averaged over the benchmarks "
        "that "
        "all systems have. Effects are least squares, and one that the systems cannot "
        "tell from another is not shown. Chance is judged by the scatter of the runs; "
        "where each system was measured once, by Lenth's pseudo standard error (its "
        "margins for one contrast and for all together) or by the residuals. An effect "
        "is clear if it is beyond chance among all that are shown."
    ),
    "co-runs": gettext_lazy(
        "Co-runs: fairness is Jain's index (Σx)² / (k Σx²) of the k VMs that ran "
        "together, scaling their sum beside one VM alone. The target of a CPU-bound "
        "time with v virtual on c physical cores is the time alone times max(1, v/c). "
        "The last VM that raised the sum did so by more than %(margin)s %% and more "
        "than the intervals of the two sums leave open."
    ),
    "energy": gettext_lazy(
        "Energy: the meter's samples are integrated over the time of the work only, "
        "run by run. Where only totals were printed, mean power is energy / meter "
        "time, and the energy of the work is mean power times the time of the work: "
        "how much longer the meter ran is said. The gain error of one meter cancels in "
        "a ratio."
    ),
}
IN_FULL: Final[Text] = gettext_lazy(
    "The method in full, with its formulas, sources and measured error rates, is "
    "docs/method.md of the version of Virtlab that is named below each page; what "
    "a study may be published as is judged by rule set %(rules)s."
)


def method(study: Study, parts: Container[str]) -> Section:
    """Return how numbers, intervals and verdicts come about.

    ``parts`` are the names of the sections that the report has.
    """
    margin = study.equivalence_margin_percent / 100
    words = {
        "margin": f"{study.equivalence_margin_percent:g}",
        "low": f"{1 - margin:g}",
        "high": f"{1 + margin:g}",
        "days": str(study.baseline_max_age_days),
        "rules": str(RULE_SET),
    }
    own = (text for name, text in OF_SECTIONS.items() if name in parts)
    paragraphs = (str(text) % words for text in (*EVERYWHERE, *own, IN_FULL))
    return Section("method", _("Method"), tuple(paragraphs))
