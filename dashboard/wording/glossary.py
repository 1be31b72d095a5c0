from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from dashboard.wording import Text


@dataclass(frozen=True)
class GlossaryTerm:
    """Term with its definition; ``sign`` is its symbol in tables."""

    slug: str
    term: Text
    definition: Text
    sign: str = ""


@dataclass(frozen=True)
class GlossarySection:
    slug: str
    title: Text
    terms: tuple[GlossaryTerm, ...]


COMPARISON_TERMS = (
    GlossaryTerm(
        "session",
        _("session"),
        _(
            "A group of runs made together, named by the uploader or derived from "
            "their start times. Sessions differ, so each verdict names the "
            "sessions it applies to."
        ),
    ),
    GlossaryTerm(
        "native",
        _("native"),
        _(
            "The machine itself, without a hypervisor, also called bare metal. VMs "
            "are compared with it."
        ),
    ),
    GlossaryTerm(
        "baseline",
        _("baseline"),
        _(
            "The native result that a result is compared with. It has the same host, "
            "tool, benchmark and bits (32-bit or 64-bit), and the guest's OS if that "
            "OS was measured natively. Virtlab finds it automatically. If none or "
            "more than one matches, the page shows this."
        ),
    ),
    GlossaryTerm(
        "efficiency",
        _("relative performance"),
        _(
            "Speed of the VM divided by the speed of bare metal: native = 1, and "
            "0.9 is 10% slower. Times are divided the other way round, so that "
            "higher is always better."
        ),
    ),
    GlossaryTerm(
        "slowdown",
        _("slowdown"),
        _(
            "Speed of one of several VMs that ran together, relative to the same "
            "system with one VM alone. 0.42 means 42% of its speed alone. It is "
            "not a comparison with native."
        ),
    ),
    GlossaryTerm(
        "no-speed",
        _("not a speed metric"),
        _(
            "A metric without relative performance: counts, shares of CPU time, "
            "amounts, and durations set by a test option. The result's page shows "
            "the reason."
        ),
    ),
    GlossaryTerm(
        "overhead",
        _("overhead"),
        _("1 minus relative performance: the loss relative to native."),
    ),
    GlossaryTerm(
        "tail",
        _("tail latency"),
        _(
            "A high percentile of the latencies of a run, such as p99: 99% of the "
            "operations took at most that long. The value of a result is the mean "
            "of its runs' p99, not the p99 of all operations together."
        ),
    ),
    GlossaryTerm(
        "change-point",
        _("change point"),
        _(
            "The day or version from which on a system has another level of "
            "performance, found by a permutation test over the results of at least "
            "10 days."
        ),
    ),
    GlossaryTerm(
        "interval",
        _("95% CI"),
        _(
            "The range that contains the true ratio, as far as these runs can "
            "show: 95 of 100 such intervals contain it. More runs make it "
            "narrower. A single run has none."
        ),
    ),
    GlossaryTerm(
        "side",
        _("side"),
        _(
            "One of the two sets of runs in a ratio: the runs of the result, or those "
            "of its baseline. In a direct comparison, each of the two systems is a "
            "side."
        ),
    ),
    GlossaryTerm(
        "reference-system",
        _("reference system"),
        _(
            "The system that the other systems of a study are compared with if the "
            "study has no native runs."
        ),
    ),
    GlossaryTerm(
        "relative",
        _("relative"),
        _(
            "A ratio to the reference system instead of native. It is used if a "
            "study has no native runs, and it does not show speed relative to native."
        ),
    ),
)
ASSESSMENT_TERMS = (
    GlossaryTerm(
        "verdict",
        _("verdict"),
        _(
            "The conclusion from the confidence interval of a ratio: slower, "
            "faster, equivalent, undetermined, or not assessed, with the reasons."
        ),
    ),
    GlossaryTerm(
        "equivalence-margin",
        _("equivalence margin"),
        _(
            "The largest difference that does not matter in practice: 2% unless the "
            "study specifies otherwise."
        ),
    ),
    GlossaryTerm(
        "slower",
        _("slower"),
        _("The whole interval is below the lower limit of the equivalence margin."),
        "▼",
    ),
    GlossaryTerm(
        "faster",
        _("faster"),
        _("The whole interval is above the upper limit of the equivalence margin."),
        "▲",
    ),
    GlossaryTerm(
        "equivalent",
        _("equivalent"),
        _("The whole interval is within the equivalence margin."),
        "=",
    ),
    GlossaryTerm(
        "undetermined",
        _("undetermined"),
        _(
            "The interval crosses a limit of the equivalence margin. More runs "
            "would settle it."
        ),
        "?",
    ),
    GlossaryTerm(
        "not-assessed",
        _("not assessed"),
        _(
            "No verdict is given, and the reasons are shown, for example too few "
            "runs, no baseline or a doubtful one, bimodal runs, a pattern in the "
            "order of the runs, or a flag that withholds the verdict."
        ),
    ),
    GlossaryTerm(
        "single-run",
        _("single run"),
        _(
            "A result that was measured once. Its uncertainty cannot be estimated. A "
            "verdict needs at least 5 runs per side, or results from 3 sessions."
        ),
    ),
    GlossaryTerm(
        "pooled",
        _("pooled"),
        _(
            "Combined from several machines. The ratios of the machines are averaged, "
            "and more precise ratios have more weight."
        ),
    ),
    GlossaryTerm(
        "failed-run",
        _("failed run"),
        _(
            "A run whose work failed: its tool or its uploader reports it, or more "
            "than 0.5% of its operations failed. It is shown, but does not count."
        ),
    ),
    GlossaryTerm(
        "rule-set",
        _("rule set"),
        _(
            "The version of the rules for confidence intervals and verdicts. Published "
            "versions and files state it."
        ),
    ),
    GlossaryTerm(
        "flag",
        _("flag"),
        _(
            "A data-quality warning with its evidence: a wrong unit, a copied row, "
            "a total that does not match its parts. It never changes a number. "
            "If its severity is “impossible” or “implausible”, it withholds the "
            "verdict until a person dismisses it."
        ),
        "⚑",
    ),
)
MEASUREMENT_TERMS = (
    GlossaryTerm(
        "tool", _("tool"), _("A benchmark program: LINPACK, RAMspeed, Iometer, ...")
    ),
    GlossaryTerm(
        "case",
        _("benchmark (case)"),
        _(
            "A metric of a tool with its parameters, such as reading in blocks of "
            "4 KiB. One row of a comparison."
        ),
    ),
    GlossaryTerm(
        "component",
        _("component"),
        _("The part of a machine that a benchmark measures, such as CPU or disk."),
    ),
    GlossaryTerm(
        "work-class",
        _("work class"),
        _(
            "A kind of work within a component, such as random reads from a disk. "
            "Results of several tools in one work class can be pooled."
        ),
    ),
    GlossaryTerm(
        "lab",
        _("lab"),
        _("A group of people that owns machines, agents and studies."),
    ),
    GlossaryTerm(
        "agent",
        _("agent"),
        _(
            "A program on a machine or in a guest. It runs benchmarks and uploads "
            "their output."
        ),
    ),
    GlossaryTerm("host", _("host"), _("A physical machine and its known facts.")),
    GlossaryTerm(
        "machine-model",
        _("machine model"),
        _(
            "Machines of one provider with the same CPU, board and caches. A guest "
            "and a native run of two such machines are compared if no machine ran "
            "both. Models differ more than machines of a model, so evidence counts "
            "models."
        ),
    ),
    GlossaryTerm(
        "system",
        _("system"),
        _(
            "A host with its hypervisor, guest OS, bits, memory and settings. One "
            "column of a comparison."
        ),
    ),
    GlossaryTerm(
        "parameter",
        _("parameter"),
        _(
            "A setting of a benchmark, such as its block size. On the page about "
            "factor effects: a setting of a system."
        ),
    ),
    GlossaryTerm(
        "vm",
        _("VM, guest"),
        _("A virtual machine. The guest OS is the operating system inside it."),
    ),
    GlossaryTerm("run", _("run"), _("One execution of one tool on one system.")),
    GlossaryTerm("sample", _("sample"), _("One number that a run measured.")),
    GlossaryTerm(
        "cell",
        _("result (cell)"),
        _("All runs of one benchmark on one system in one scenario, summarized."),
    ),
    GlossaryTerm(
        "study",
        _("study"),
        _("The measurements of one lab for one purpose: systems, runs and text."),
    ),
    GlossaryTerm(
        "level",
        _("draft, lab, reproduced, verified"),
        _(
            "The level at which a study can be published. Draft: no requirements. "
            "Lab: at least 5 runs per result with little variation, and all "
            "metadata. Reproduced: another lab found the same, and no lab found "
            "the opposite. Verified: another lab signed it."
        ),
    ),
    GlossaryTerm(
        "version",
        _("version"),
        _(
            "A published, permanent state of a study with its files. It can be "
            "cited and never changes."
        ),
    ),
    GlossaryTerm(
        "scenario",
        _("scenario"),
        _(
            "Other activity during the run: none, other VMs, a load, traffic "
            "between VMs."
        ),
    ),
    GlossaryTerm(
        "barrier",
        _("barrier"),
        _(
            "The point at which the agents of a co-run wait for each other, so that "
            "all VMs start at the same time."
        ),
    ),
    GlossaryTerm("slot", _("slot"), _("The number of a VM in a co-run: 1, 2, ...")),
    GlossaryTerm(
        "co-run", _("co-run"), _("Runs of several VMs that ran at the same time.")
    ),
    GlossaryTerm(
        "bimodal",
        _("bimodal (two speeds)"),
        _(
            "A result is bimodal if its runs fall into two groups. Their mean would "
            "describe neither group, so no single value is given."
        ),
    ),
    GlossaryTerm(
        "clock-trust",
        _("clock trust"),
        _(
            "How far the clock that timed a run can be trusted. A guest's clock can "
            "run slow, which makes everything look fast. Runs timed from outside the "
            "guest are trusted. A clock that was not compared with another clock is "
            "unchecked. A result with a suspect clock gets no verdict."
        ),
    ),
    GlossaryTerm(
        "factor-effects",
        _("factor effects"),
        _(
            "How much a change of one parameter of the systems changes relative "
            "performance, with the margin that chance alone would reach."
        ),
    ),
)
GLOSSARY = (
    GlossarySection("comparing", _("Comparing with native"), COMPARISON_TERMS),
    GlossarySection("judging", _("Assessment"), ASSESSMENT_TERMS),
    GlossarySection("measuring", _("Measurements"), MEASUREMENT_TERMS),
)
TERMS_BY_SLUG = {word.slug: word for chapter in GLOSSARY for word in chapter.terms}
