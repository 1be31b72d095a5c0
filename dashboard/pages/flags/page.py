"""What the page of a study's flags shows: rules, and under each its findings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.comparing.table import Fact
from benchmarks.models import Cell, Decision, DueCheck, Flag, Study
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.plausibility.rules import RULES
from benchmarks.studies.flags import NO_SUBJECTS, cells_of_flags, runs_of_flags
from benchmarks.studies.lists import measured_systems
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.addresses import unmet
from dashboard.wording.states import Evidence, evidence_words

EVERYTHING = "all"
SHOWN = 300
"""Of one rule that is asked for."""
FIRST = 3
"""Of each rule where all are listed: a study may have hundreds of one kind."""
SUBJECTS_SHOWN = 12
CIRCUMSTANCES = ("scenario", "vms", "slot", "load")


@dataclass(frozen=True)
class ShownFlag:
    """A flag with its evidence in words and links to the cells and runs it is about."""

    flag: Flag
    evidence: tuple[Evidence, ...]
    subjects: tuple[tuple[str, str], ...]
    """Address and name of each."""
    further: int
    decisions: Sequence[Decision]

    @property
    def count(self) -> int:
        """How many results and runs it is about."""
        return len(self.subjects) + self.further


@dataclass(frozen=True)
class RuleGroup:
    """The findings of one rule, and what the rule says of itself."""

    rule: str
    title: str
    documentation: str
    severity: str
    count: int
    flags: tuple[ShownFlag, ...]
    is_folded: bool = False
    """Whether its findings come on demand: what may be right beside what cannot be."""


@dataclass(frozen=True)
class FlagPage:
    """Flags by rule, gravest first; ``choices`` are all statuses with their numbers.

    ``rule`` is the only one that is shown, empty where all are.
    """

    status: str
    rule: str
    choices: tuple[tuple[str, int], ...]
    groups: tuple[RuleGroup, ...]
    is_unchecked: bool
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def flag_page(viewer: Viewer, study: Study, query: Mapping[str, str]) -> FlagPage:
    """Return the flags that a URL's query asks for: open ones unless told.

    Of every rule the first few, of one that is asked for all that a page holds.
    """
    wanted = query.get("status", Flag.Status.OPEN)
    status = wanted if wanted in Flag.Status.values else EVERYTHING
    everything = Flag.objects.visible_to(viewer).current().filter(study=study)
    counts = Counter(everything.order_by().values_list("status", flat=True))
    chosen = everything if status == EVERYTHING else everything.filter(status=status)
    # By rank, not by name; and groupby needs the flags of one rule beside each other.
    flags = sorted(
        chosen, key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk)
    )
    by_rule = {
        key: list(members)
        for key, members in groupby(flags, key=lambda it: (it.severity, it.rule))
    }
    asked = query.get("rule", "")
    only = asked if any(rule == asked for _severity, rule in by_rule) else ""
    if only:
        by_rule = {key: found for key, found in by_rule.items() if key[1] == only}
    most = SHOWN if only else FIRST
    first = [flag for members in by_rule.values() for flag in members[:most]]
    shown = {it.flag.pk: it for it in _shown(study, first)}
    groups = []
    for (severity, name), members in by_rule.items():
        rule = RULES.get(name)
        group = RuleGroup(
            rule=name,
            title=_(rule.title) if rule else name,
            documentation=_(rule.documentation) if rule else "",
            severity=severity,
            count=len(members),
            flags=tuple(shown[flag.pk] for flag in members[:most]),
            is_folded=not only and len(by_rule) > 1 and severity == SEVERITIES[-1],
        )
        groups.append(group)
    return FlagPage(
        status=status,
        rule=only,
        choices=(
            *((name, counts[name]) for name in Flag.Status.values),
            (EVERYTHING, counts.total()),
        ),
        groups=tuple(groups),
        is_unchecked=DueCheck.objects.filter(study=study).exists(),
        unmet=unmet(query, {"status": status, "rule": only}),
    )


def _shown(study: Study, flags: Sequence[Flag]) -> Iterator[ShownFlag]:
    """Yield flags with what they are about, in five queries for them all."""
    cells = cells_of_flags(flags, SUBJECTS_SHOWN)
    runs = runs_of_flags(flags, SUBJECTS_SHOWN)
    links = _cell_links(study, {pk for about in cells.values() for pk in about.ids})
    decisions: dict[int, list[Decision]] = defaultdict(list)
    for decision in Decision.objects.filter(flag__in=flags).order_by("pk"):
        decisions[decision.flag_id].append(decision)
    address, name = _address("dashboard:run-detail"), _("run %(n)s")
    for flag in flags:
        of_cells = cells.get(flag.pk, NO_SUBJECTS)
        of_runs = runs.get(flag.pk, NO_SUBJECTS)
        yield ShownFlag(
            flag=flag,
            evidence=evidence_words(flag.evidence),
            subjects=(
                *(links[pk] for pk in of_cells.ids if pk in links),
                *((f"{address}{pk}/", name % {"n": pk}) for pk in of_runs.ids),
            ),
            decisions=decisions.get(flag.pk, ()),
            further=sum(it.count - len(it.ids) for it in (of_cells, of_runs)),
        )


def _cell_links(study: Study, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return address and name of each cell; a name is put together once a system."""
    cells = Cell.objects.filter(pk__in=ids)
    rows = list(cells.values_list("pk", "case__label", "system", *CIRCUMSTANCES))
    names = wording.system_names(measured_systems(study))
    address = _address("dashboard:cell", study.lab.slug, study.slug)
    links = {}
    for pk, label, system, *values in rows:
        # What tells cells of one case and system apart.
        circumstances = [
            wording.fact_text(Fact(name, str(value)))
            for name, value in zip(CIRCUMSTANCES, values, strict=True)
            if value and value != "single"
        ]
        text = ", ".join([label, names[system], *circumstances])
        links[pk] = (f"{address}{pk}/", text)
    return links


def _address(name: str, *place: str) -> str:
    """Return where the pages of such things begin: a look-up each is slow."""
    return reverse(name, args=[*place, 0]).removesuffix("0/")
