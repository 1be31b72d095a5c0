"""The words of the pages, each explained once: on `/glossary/`, and where it stands."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from dashboard.wording import Text


@dataclass(frozen=True)
class Word:
    """A word and what it means here; ``sign`` is how cells show it, if they do."""

    slug: str
    term: Text
    meaning: Text
    sign: str = ""


@dataclass(frozen=True)
class Chapter:
    """Words that belong together."""

    slug: str
    title: Text
    words: tuple[Word, ...]


COMPARING = (
    Word(
        "session",
        _("session"),
        _(
            "One sitting of runs: named by who uploaded them, or derived from their "
            "starts. Sittings differ, so a verdict says of which it speaks."
        ),
    ),
    Word(
        "native",
        _("native"),
        _("The machine itself, without a hypervisor: what a VM is compared with."),
    ),
    Word(
        "baseline",
        _("baseline"),
        _(
            "The native result that a result is divided by: same host, tool, "
            "benchmark and bits, and the guest's OS where it ran natively. Virtlab "
            "finds it; where there is none, or more than one, the page says so."
        ),
    ),
    Word(
        "efficiency",
        _("relative performance"),
        _(
            "Native = 1: the VM's speed divided by the bare "
            "machine's. 0.9 is 10\N{NO-BREAK SPACE}% slower. Times are divided the "
            "other way round, so "
            "that more is always better."
        ),
    ),
    Word(
        "slowdown",
        _("slowdown"),
        _(
            "Of one of several VMs that ran together: its speed beside that of the "
            "same system with one VM alone. 0.42 is 0.42 of the speed that it has "
            "alone; nothing is said about native."
        ),
    ),
    Word(
        "no-speed",
        _("no speed"),
        _(
            "A length that an option of the test set, a count, a share of CPU time, "
            "an amount: it has no relative performance, and the result's page says why."
        ),
    ),
    Word("overhead", _("overhead"), _("1 minus relative performance: what is lost.")),
    Word(
        "interval",
        _("95\N{NO-BREAK SPACE}% interval"),
        _(
            "Where the true ratio lies, as far as these runs can tell: 95 of 100 such "
            "intervals contain it. More runs make it narrower. A single run has none."
        ),
    ),
    Word(
        "relative",
        _("relative"),
        _(
            "Where a study has no native runs, its systems are compared with one of "
            "them. Such ratios say nothing about native speed."
        ),
    ),
)
JUDGING = (
    Word(
        "verdict",
        _("verdict"),
        _(
            "What the interval of a ratio says: slower, faster, equivalent, "
            "undetermined, or not assessed, with the reasons."
        ),
    ),
    Word(
        "equivalence-margin",
        _("equivalence margin"),
        _(
            "Differences too small to matter in practice: 2\N{NO-BREAK SPACE}% unless "
            "the study says "
            "otherwise."
        ),
    ),
    Word(
        "slower",
        _("slower"),
        _("The whole interval lies below the equivalence margin."),
        "▼",
    ),
    Word(
        "faster",
        _("faster"),
        _("The whole interval lies above the equivalence margin."),
        "▲",
    ),
    Word(
        "equivalent",
        _("equivalent"),
        _("The whole interval lies within the equivalence margin."),
        "=",
    ),
    Word(
        "undetermined",
        _("undetermined"),
        _(
            "The interval crosses an edge of the equivalence margin: more runs would "
            "tell."
        ),
        "?",
    ),
    Word(
        "not-assessed",
        _("not assessed"),
        _(
            "No verdict is given, with its reasons: too few runs, no baseline or a "
            "doubtful one, bimodal runs, an order in the runs, an open flag."
        ),
    ),
    Word(
        "single-run",
        _("single run"),
        _("Measured once: no uncertainty estimate. A verdict needs 5 runs per side."),
    ),
    Word(
        "flag",
        _("flag"),
        _(
            "A data-quality warning with its evidence: a wrong unit, a copied row, a "
            "total that does not match its parts. It never changes a number. "
            "Unless it is a check only, it withholds the verdict until a person "
            "confirms or dismisses it."
        ),
        "⚑",
    ),
)
MEASURING = (
    Word("tool", _("tool"), _("A benchmark program: LINPACK, RAMspeed, Iometer, ...")),
    Word(
        "case",
        _("benchmark (case)"),
        _(
            "What one number of a tool means, with its parameters, such as reading in "
            "blocks of 4 KiB: one row of a comparison."
        ),
    ),
    Word("host", _("host"), _("A physical machine and what is known of it.")),
    Word(
        "system",
        _("system"),
        _(
            "A host with its hypervisor, guest OS, bits, memory and settings: one "
            "column of a comparison."
        ),
    ),
    Word("run", _("run"), _("One execution of one tool on one system.")),
    Word("sample", _("sample"), _("One number that a run measured.")),
    Word(
        "cell",
        _("result (cell)"),
        _("All runs of one benchmark on one system in one scenario, summarised."),
    ),
    Word(
        "study",
        _("study"),
        _("Measurements of a lab with one purpose: systems, runs and text."),
    ),
    Word(
        "level",
        _("draft, lab, reproduced, verified"),
        _(
            "What a study may be published as. Draft: anything. Lab: at least 5 runs "
            "per result with little scatter, and all metadata. Reproduced: another lab "
            "found the same, and none the opposite. Verified: another lab signed it."
        ),
    ),
    Word(
        "version",
        _("version"),
        _(
            "A published, permanent state of a study, with its files: it can be cited "
            "and never changes."
        ),
    ),
    Word(
        "scenario",
        _("scenario"),
        _(
            "What else ran at the time: nothing, other VMs, a load, traffic between "
            "VMs."
        ),
    ),
    Word("co-run", _("co-run"), _("Runs of several VMs that ran together.")),
    Word(
        "bimodal",
        _("bimodal (two speeds)"),
        _(
            "The runs of a result fall into two groups. Their mean would describe "
            "neither, so no single figure is given."
        ),
    ),
    Word(
        "clock-trust",
        _("trust in a clock"),
        _(
            "A guest's clock can run slow, which makes everything look fast. Runs "
            "timed from outside are trusted; a clock compared with no other is "
            "unchecked; a suspect one withholds the verdict."
        ),
    ),
    Word(
        "factor-effects",
        _("factor effects"),
        _(
            "How much changing one setting changes relative performance, with the "
            "margin that chance alone would reach."
        ),
    ),
)
CHAPTERS = (
    Chapter("comparing", _("Comparing with native"), COMPARING),
    Chapter("judging", _("What may be said"), JUDGING),
    Chapter("measuring", _("What is measured"), MEASURING),
)
WORDS = {word.slug: word for chapter in CHAPTERS for word in chapter.words}
