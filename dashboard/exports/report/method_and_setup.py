import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publication_requirements import REQUIRED_FACTS, LevelAssessment
from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.errors import shorten
from benchmarks.models import Host, Study
from benchmarks.studies.overview import StudyDetail
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.report_elements import ReportSection, ReportTable, plain_table
from dashboard.wording import Text, state_names

METHOD_SENTENCES: Final[tuple[Text, ...]] = (
    gettext_lazy(
        "A run is one fresh start of a tool and the unit of replication: "
        "repetitions within a run are averaged. A result is a benchmark on a "
        "system in a scenario; it summarizes the runs."
    ),
    gettext_lazy(
        "Relative performance is VM / native for rates and native / VM for times: "
        "1 is native speed, and overhead is 1 minus relative performance. The "
        "baseline is the native result of the same host, tool, benchmark and bits, "
        "with the OS of the guest if that OS was measured natively. A baseline is "
        "outdated if it is more than %(days)s days away or if the machine ran "
        "another kernel or firmware. If several baselines match and differ by more "
        "than %(margin)s%%, none of them is used. If a study has no native runs, "
        "its ratios are to a reference system and are called relative."
    ),
    gettext_lazy(
        "Before a result gets a single value, its runs are checked in order: for "
        "bimodality (two speeds; from 5 runs, with 1%% false alarms), for patterns "
        "and drifts over time (from 8 runs, by permutation, 1%%), and for a first "
        "run that differs from the others. A result that fails a check is reported "
        "as such and gets no mean. Outliers are labeled and never excluded."
    ),
    gettext_lazy(
        "The 95%% confidence interval is computed on the log scale from n, mean and "
        "variance of the result and of its baseline (the two sides of the ratio), "
        "with Welch-Satterthwaite degrees of freedom and the quantile of Student's "
        "t. With fewer than 5 runs on a side, each side keeps its own quantile "
        "(MOVER). One run gives no interval, 2 runs give a rough interval (drawn "
        "faint), and 3 or 4 runs give an indicative result. A verdict needs at least "
        "5 runs per side."
    ),
    gettext_lazy(
        "Runs of one session do not show how another session would differ. If both "
        "sides ran in three or more sessions, each session gives one ratio and the "
        "interval is computed from these ratios; if the sides do not share their "
        "sessions, the means of the sessions are compared. With one shared "
        "session, the verdict holds for that session only. If the sides ran in "
        "different sessions that were never repeated, the result is drawn hollow "
        "and gets no verdict."
    ),
    gettext_lazy(
        "The verdict, with an equivalence margin of %(margin)s%%, is slower if the "
        "whole interval is below %(low)s, faster if the whole interval is above "
        "%(high)s, equivalent if the interval is between the two, and undetermined "
        "otherwise. A result is not assessed, and the reason is given, if there are "
        "too few runs, if the baseline is missing, outdated, one of several or too "
        "noisy, if the runs are bimodal, if the order of the runs changes the ratio, "
        "or if a flag withholds the verdict. If every run of one side is beyond "
        "every run of the other side by more than the margin, the result can still "
        "be reported as slower or faster."
    ),
    gettext_lazy(
        "The mean over benchmarks is the geometric mean over the benchmarks that "
        "all compared systems have. It is reported with its spread and its worst "
        'benchmark. A flag never changes a number. A flag of severity "impossible" '
        'or "implausible" withholds the verdict of its results until a person '
        "dismisses it."
    ),
    gettext_lazy(
        "The table of benchmarks names the clock that timed each number. A guest "
        "clock that is more than 50 ms off, or drifts by more than 500 ppm during "
        "a run, is suspect, and its results are not assessed. Numbers printed by a "
        "tool are not recomputed."
    ),
)
SECTION_METHODS: Final[Mapping[str, Text]] = {
    "factor-effects": gettext_lazy(
        "Factor effects: the response of a system is the logarithm of its relative "
        "performance (or of its value if it has no relative performance), averaged "
        "over the benchmarks that all systems have. Effects are least squares "
        "estimates, and an effect that these systems cannot distinguish from "
        "another is not shown. Chance is estimated from the scatter of the runs "
        "or, if each system was measured once, from Lenth's pseudo standard error "
        "(with its margins for one contrast and for all together) or from the "
        "residuals. An effect is clear if it is beyond chance among all effects "
        "shown."
    ),
    "co-runs": gettext_lazy(
        "Co-runs: fairness is Jain's index (Σx)² / (k Σx²) of the k VMs that ran "
        "together, and scaling is their sum relative to one VM alone. The target of "
        "a CPU-bound time with v virtual and c physical cores is the time of one VM "
        "alone multiplied by max(1, v/c). The last VM that increased the sum "
        "increased it by more than %(margin)s%% and by more than the uncertainty of "
        "the two sums."
    ),
    "energy": gettext_lazy(
        "Energy: the meter's samples are integrated over the time of the work "
        "only, separately for each run. If only totals were printed, mean power is "
        "energy / meter time, and the energy of the work is mean power multiplied "
        "by the time of the work; the report states how much longer the meter ran. "
        "The gain error of a meter cancels out in a ratio."
    ),
}
METHOD_LINK: Final[Text] = gettext_lazy(
    "The full method, with formulas, sources and measured error rates, is in "
    "docs/method.md of the Virtlab version named below each page. Rule set "
    "%(rules)s determines the level at which a study can be published."
)


def method_section(study: Study, parts: Container[str]) -> ReportSection:
    """Return the method, including the methods of the sections in ``parts``."""
    margin = study.equivalence_margin_percent / 100
    values = {
        "margin": f"{study.equivalence_margin_percent:g}",
        "low": f"{1 - margin:g}",
        "high": f"{1 + margin:g}",
        "days": str(study.baseline_max_age_days),
        "rules": str(RULE_SET),
    }
    section_methods = (text for name, text in SECTION_METHODS.items() if name in parts)
    paragraphs = (
        str(text) % values
        for text in (*METHOD_SENTENCES, *section_methods, METHOD_LINK)
    )
    return ReportSection("method", _("Method"), tuple(paragraphs))


SYSTEM_COLUMNS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("Type"), "virtualization"),
    (gettext_lazy("Guest OS"), "guest_os"),
    (gettext_lazy("Bits"), "guest_bits"),
    (gettext_lazy("vCPUs"), "vcpus"),
    (gettext_lazy("Memory"), "memory_bytes"),
)
BYTES_SUFFIX: Final = "bytes"
MAX_SYSTEM_ROWS = 200
MAX_FACT_LENGTH = 1_000
PART_SEPARATOR = " · "


def not_stated_text() -> str:
    return _("not reported")


def setup_section(
    detail: StudyDetail, assessment: LevelAssessment, tools: ReportTable
) -> ReportSection:
    texts = [] if detail.systems else [_("No measurements yet.")]
    texts.append(
        _(
            "The metadata are shown as the authors reported them. Facts that they "
            "did not report are marked."
        )
    )
    if len(detail.systems) > MAX_SYSTEM_ROWS:
        values = {"n": MAX_SYSTEM_ROWS, "all": len(detail.systems)}
        texts.append(_("Showing the first %(n)s of %(all)s systems.") % values)
    for group, names in assessment.missing_facts.items():
        missing = ", ".join(map(wording.translate_text, names))
        text = _("Missing metadata (%(group)s): %(names)s.")
        texts.append(text % {"group": wording.translate_text(group), "names": missing})
    systems = [_systems_table(detail), tools] if detail.systems else []
    tables = [*systems, *map(_machine_table, detail.hosts)]
    title = _("Systems and metadata")
    return ReportSection("systems", title, texts, tables)


def _systems_table(detail: StudyDetail) -> ReportTable:
    hosts = [host.slug for host in detail.hosts]
    head = [_("No."), _("Hypervisor"), *(str(name) for name, _key in SYSTEM_COLUMNS)]
    head += [_("Settings"), *([_("Host")] if len(hosts) > 1 else [])]
    rows = []
    for number, system in enumerate(detail.systems[:MAX_SYSTEM_ROWS], start=1):
        values = [
            wording.property_value(key, getattr(system, key)) or not_stated_text()
            for _name, key in SYSTEM_COLUMNS
        ]
        if system.is_native:
            values[0] = "-"
        options = "; ".join(
            f"{wording.property_name(name)} {value}"
            for name, value in system.options.items()
        )
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        row = [str(number), platform, *values, options or "-", system.host.slug]
        rows.append(row[: len(head)])
    title = _("Systems") if len(hosts) > 1 else _("Systems on %(host)s")
    weights = (2, 5, 6, 10, 3, 5, 5, 10, 7)[: len(head)]
    return plain_table(title % {"host": hosts[0]}, head, rows, weights=weights)


def _machine_table(host: Host) -> ReportTable:
    def text(name: str, value: Any) -> str:
        is_size = name.endswith(BYTES_SUFFIX) and isinstance(value, int)
        return formatting.file_size(value) if is_size else nested_fact_text(value)

    def labeled_text(name: str, value: Any) -> str:
        # A plain integer is unclear without its name. isinstance() would include bool.
        needs_label = type(value) is int and not name.endswith(BYTES_SUFFIX)
        label = f"{wording.fact_name(name)}: " if needs_label else ""
        return label + text(name, value)

    facts = dict(host.facts)
    rows, missing = [], []
    for required in REQUIRED_FACTS["host"]:
        texts = [
            labeled_text(name, facts.pop(name))
            for name in required.facts
            if name in facts
        ]
        if texts:
            rows.append(
                [capfirst(wording.translate_text(required.name)), "; ".join(texts)]
            )
        else:
            missing.append(wording.translate_text(required.name))
    rows += [
        [capfirst(wording.fact_name(name)), text(name, value)]
        for name, value in facts.items()
    ]
    if missing:
        rows.append([not_stated_text(), ", ".join(missing)])
    title = f"{host.slug}: {host.title}" if host.title else host.slug
    return plain_table(_("Machine %(name)s") % {"name": title}, (), rows)


def nested_fact_text(value: Any) -> str:
    if isinstance(value, str):
        return shorten(value, MAX_FACT_LENGTH)
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name}: {nested_fact_text(part)}" for name, part in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(nested_fact_text, value))
    return json.dumps(value)


def tools_table(
    rows: Iterable[ComparisonRow], versions: Mapping[str, Sequence[str]]
) -> ReportTable:
    members: dict[tuple[Any, ...], list[ComparisonRow]] = {}
    for row in rows:
        metric = row.case.label.partition(PART_SEPARATOR)[0]
        component = rank_by_order(COMPONENTS, row.case.component)
        key = (component, row.tool_title, metric, row.result.unit)
        members.setdefault(key, []).append(row)
    lines = []
    for (_component, tool, metric, unit), cells in sorted(
        members.items(), key=lambda item: item[0]
    ):
        reported = versions.get(cells[0].case.tool, ())
        tool_versions = (
            text.removeprefix(f"{tool} ") or not_stated_text() for text in reported
        )
        clocks = (
            str(state_names.CLOCK_NAMES.get(clock, clock))
            if clock
            else not_stated_text()
            for clock in dict.fromkeys(row.clock for row in cells)
        )
        lines.append(
            (
                tool,
                ", ".join(tool_versions) or not_stated_text(),
                metric,
                unit,
                str(wording.DIRECTION_NAMES.get(cells[0].result.better, "")),
                "; ".join(clocks),
                str(len(cells)),
            )
        )
    head = (
        *(_("Tool"), _("Version"), _("Metric"), _("Unit")),
        *(_("Direction"), _("Timed by"), _("Results")),
    )
    weights = (4, 3, 6, 3, 4, 6, 2)
    return plain_table(_("Benchmarks"), head, lines, numbers_from=6, weights=weights)
