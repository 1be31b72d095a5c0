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
        "native",
        _("native"),
        _("The machine itself, without a hypervisor: what a VM is set against."),
    ),
    Word(
        "baseline",
        _("baseline"),
        _(
            "The native cell a result is divided by: same host, tool, case, guest OS "
            "and bits. It is found by itself; where there is none or more than one, "
            "the page says so."
        ),
    ),
    Word(
        "efficiency",
        _("efficiency"),
        _(
            "The VM's speed divided by the bare machine's. 1 is native speed, 0.9 is a "
            "tenth slower. For times the division is turned round, so that more is "
            "always better."
        ),
    ),
    Word("overhead", _("overhead"), _("1 minus the efficiency: what is lost.")),
    Word(
        "interval",
        _("95 % interval"),
        _(
            "Where the true ratio lies, as far as these runs can tell: 95 of 100 "
            "intervals made like this hold it. Narrow is sure; more runs make it "
            "narrower. A single run has none."
        ),
    ),
    Word(
        "relative",
        _("relative"),
        _(
            "Where a study measured no native machine, ratios are to a system it "
            "chose. They compare systems and say nothing about native speed."
        ),
    ),
)
JUDGING = (
    Word(
        "verdict",
        _("verdict"),
        _(
            "What may be said of a ratio, from its interval: slower, faster, "
            "equivalent, undetermined, or not assessed with the reasons."
        ),
    ),
    Word(
        "equivalence-margin",
        _("equivalence margin"),
        _(
            "Differences too small to matter in practice: 2 % unless the study says "
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
            "The interval reaches over an edge of the equivalence margin: more runs "
            "would tell."
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
        _(
            "Measured once. It says what was seen, not what would be seen again; from "
            "5 runs a side on a verdict is given."
        ),
    ),
    Word(
        "flag",
        _("flag"),
        _(
            "A doubt with its evidence: a slipped unit, a pasted row, a sum that does "
            "not add up. It never changes a number; it withholds the verdict until a "
            "person confirms or dismisses it."
        ),
        "⚑",
    ),
)
MEASURING = (
    Word("tool", _("tool"), _("A benchmark program: LINPACK, RAMspeed, Iometer, ...")),
    Word(
        "case",
        _("case"),
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
        _("cell"),
        _("A system and a case, under the same circumstances: all runs summed up."),
    ),
    Word("study", _("study"), _("A study of a lab: its systems, runs and text.")),
    Word(
        "level",
        _("draft, lab, verified"),
        _(
            "What a study may be published as. Draft: anything. Lab: at least 5 "
            "runs a cell, little scatter between them, and every fact stated that a "
            "reader needs. Verified: another lab measured it too, or signed it."
        ),
    ),
    Word(
        "version",
        _("version"),
        _(
            "A study as it stood on one day, frozen with its files: what can be "
            "cited and never changes."
        ),
    ),
    Word(
        "scenario",
        _("scenario"),
        _("What else ran meanwhile: nothing, other VMs, a load, traffic between VMs."),
    ),
    Word("co-run", _("co-run"), _("Runs of several VMs that ran together.")),
    Word(
        "bimodal",
        _("bimodal (two speeds)"),
        _(
            "The runs of a cell fall into two groups. Their mean would describe "
            "neither, so no single figure is given."
        ),
    ),
    Word(
        "clock-trust",
        _("trust in a clock"),
        _(
            "A guest's clock can run slow, and then everything looks fast. Runs timed "
            "from outside are trusted; a clock that was set against none is unchecked; "
            "a suspect one takes the verdict away."
        ),
    ),
    Word(
        "factor-effects",
        _("factor-effects"),
        _(
            "By what factor changing one setting moved the efficiency, with the margin "
            "that chance alone would reach."
        ),
    ),
)
CHAPTERS = (
    Chapter("comparing", _("Comparing with native"), COMPARING),
    Chapter("judging", _("What may be said"), JUDGING),
    Chapter("measuring", _("What is measured"), MEASURING),
)
WORDS = {word.slug: word for chapter in CHAPTERS for word in chapter.words}
