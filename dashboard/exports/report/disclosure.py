"""Systems, machines and tools, and what a report must say that nobody stated."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publishing import DISCLOSURE, Assessment
from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.errors import shorten
from benchmarks.models import Host, Study
from benchmarks.studies.lists import StudyDetail
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Section, Table, plain_table
from dashboard.wording import Text, states

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
    """Return how numbers come about, for a report with the sections ``parts``."""
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


ON_SYSTEMS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("Type"), "virtualization"),
    (gettext_lazy("Guest OS"), "guest_os"),
    (gettext_lazy("Bits"), "guest_bits"),
    (gettext_lazy("vCPUs"), "vcpus"),
    (gettext_lazy("Memory"), "memory_bytes"),
)
BYTES: Final = "bytes"
SYSTEMS = 200
FACT_LENGTH = 1_000
PART = " · "


def not_stated() -> str:
    """Return what is said of something nobody stated."""
    return _("not stated")


def disclosure(detail: StudyDetail, judged: Assessment, tools: Table) -> Section:
    """Return what is known of machines, systems and tools, and what was not stated."""
    texts = [] if detail.systems else [_("Nothing has been measured yet.")]
    texts.append(_("As stated by the authors; what they did not state is marked."))
    if len(detail.systems) > SYSTEMS:
        words = {"n": SYSTEMS, "all": len(detail.systems)}
        texts.append(_("The first %(n)s of %(all)s systems are shown.") % words)
    for group, names in judged.undisclosed.items():
        missing = ", ".join(map(wording.said, names))
        text = _("Missing metadata of the %(group)s: %(names)s.")
        texts.append(text % {"group": group, "names": missing})
    systems = [_systems(detail), tools] if detail.systems else []
    tables = [*systems, *map(_host, detail.hosts)]
    title = _("Systems and disclosure")
    return Section("systems", title, texts, tables)


def _systems(detail: StudyDetail) -> Table:
    """Return what is stated of each system; its host where there are several."""
    hosts = [host.slug for host in detail.hosts]
    head = [_("No."), _("Hypervisor"), *(str(name) for name, _key in ON_SYSTEMS)]
    head += [_("Options"), *([_("Host")] if len(hosts) > 1 else [])]
    rows = []
    for number, system in enumerate(detail.systems[:SYSTEMS], start=1):
        stated = [
            wording.property_value(key, getattr(system, key)) or not_stated()
            for _name, key in ON_SYSTEMS
        ]
        if system.is_native:
            stated[0] = "-"
        options = "; ".join(
            f"{wording.property_name(name)} {value}"
            for name, value in system.options.items()
        )
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        row = [str(number), platform, *stated, options or "-", system.host.slug]
        rows.append(row[: len(head)])
    title = _("Systems") if len(hosts) > 1 else _("Systems on %(host)s")
    weights = (2, 5, 6, 10, 3, 5, 5, 10, 7)[: len(head)]
    return plain_table(title % {"host": hosts[0]}, head, rows, weights=weights)


def _host(host: Host) -> Table:
    """Return a machine's facts, and the names of those that nobody stated."""

    def text(name: str, value: Any) -> str:
        is_size = name.endswith(BYTES) and isinstance(value, int)
        return figures.size(value) if is_size else fact_text(value)

    def named(name: str, value: Any) -> str:
        # Under the name of its thing a bare number would not say what it counts.
        # Not isinstance(): yes and no are ints, too.
        is_bare = type(value) is int and not name.endswith(BYTES)
        label = f"{wording.fact_name(name)}: " if is_bare else ""
        return label + text(name, value)

    facts = dict(host.facts)
    rows, missing = [], []
    for thing in DISCLOSURE["host"]:
        texts = [named(name, facts.pop(name)) for name in thing.facts if name in facts]
        if texts:
            rows.append([capfirst(wording.said(thing.name)), "; ".join(texts)])
        else:
            missing.append(wording.said(thing.name))
    rows += [
        [capfirst(wording.fact_name(name)), text(name, value)]
        for name, value in facts.items()
    ]
    if missing:
        rows.append([not_stated(), ", ".join(missing)])
    title = f"{host.slug}: {host.title}" if host.title else host.slug
    return plain_table(_("Machine %(name)s") % {"name": title}, (), rows)


def fact_text(value: Any) -> str:
    """Write a fact; nested ones as name and value, and of a long one the beginning."""
    if isinstance(value, str):
        return shorten(value, FACT_LENGTH)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {fact_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return json.dumps(value)


def tools_table(
    rows: Iterable[ComparisonRow], versions: Mapping[str, Sequence[str]]
) -> Table:
    """Return a line for each metric: its tool, unit and clock."""
    members: dict[tuple[Any, ...], list[ComparisonRow]] = {}
    for row in rows:
        metric = row.case.label.partition(PART)[0]
        component = rank(COMPONENTS, row.case.component)
        place = (component, row.tool_title, metric, row.shown.unit)
        members.setdefault(place, []).append(row)
    lines = []
    for (_component, tool, metric, unit), cells in sorted(
        members.items(), key=lambda item: item[0]
    ):
        printed = versions.get(cells[0].case.tool, ())
        # Some tools print their name before their version.
        known = (text.removeprefix(f"{tool} ") or not_stated() for text in printed)
        clocks = (
            str(states.CLOCKS.get(clock, clock)) if clock else not_stated()
            for clock in dict.fromkeys(row.clock for row in cells)
        )
        lines.append(
            (
                tool,
                ", ".join(known) or not_stated(),
                metric,
                unit,
                str(wording.BETTER.get(cells[0].shown.better, "")),
                "; ".join(clocks),
                str(len(cells)),
            )
        )
    head = (
        *(_("Tool"), _("Version"), _("Metric"), _("Unit")),
        *(_("Better"), _("Timed by"), _("Results")),
    )
    weights = (4, 3, 6, 3, 4, 6, 2)
    return plain_table(_("Benchmarks"), head, lines, numbers_from=6, weights=weights)
