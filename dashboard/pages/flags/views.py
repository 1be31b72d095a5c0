"""The flags of a study, and decisions about them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.table import Fact
from benchmarks.models import Cell, Decision, Flag, Job, Study
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.plausibility.rules import RULES
from benchmarks.studies.flags import (
    NO_SUBJECTS,
    cells_of_flags,
    decide_flag,
    find_flag,
    runs_of_flags,
)
from benchmarks.studies.lists import measured_systems
from dashboard import wording
from dashboard.kit.addresses import STUDY, unmet
from dashboard.kit.forms import outcome_message
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import Tab, action, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    signed_in_person,
    study_or_404,
    viewer_of,
)
from dashboard.wording.states import evidence_words

EVERYTHING = "all"
SHOWN = 300
"""Flags of one rule if only that rule is shown."""
FIRST = 3
"""Flags of each rule if all are listed: a study may have hundreds of one kind."""
SUBJECTS_SHOWN = 12
CIRCUMSTANCES = ("scenario", "vms", "slot", "load")


@kept_study_page
def list_flags(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show the flags of a study by rule, the most severe first, with the evidence."""
    viewer, query = viewer_of(request), query_of(request)
    study = study_or_404(viewer, lab, slug)
    wanted = query.get("status", Flag.Status.OPEN)
    status = wanted if wanted in Flag.Status.values else EVERYTHING
    everything = Flag.objects.visible_to(viewer).current().filter(study=study)
    counts = Counter(everything.order_by().values_list("status", flat=True))
    chosen = everything if status == EVERYTHING else everything.filter(status=status)
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
    shown = {it["flag"].pk: it for it in _shown(study, first)}
    groups = []
    for (severity, name), members in by_rule.items():
        rule = RULES.get(name)
        group = {
            "rule": name,
            "title": _(rule.title) if rule else name,
            "documentation": _(rule.documentation) if rule else "",
            "severity": severity,
            "count": len(members),
            "flags": [shown[flag.pk] for flag in members[:most]],
            # Checks may be right: their findings are shown on demand.
            "is_folded": not only and len(by_rule) > 1 and severity == SEVERITIES[-1],
        }
        groups.append(group)
    page = {
        "status": status,
        "rule": only,
        "choices": [
            *((name, counts[name]) for name in Flag.Status.values),
            (EVERYTHING, counts.total()),
        ],
        "groups": groups,
        "is_unchecked": Job.objects.filter(kind=Job.Kind.CHECK, study=study).exists(),
        "unmet": unmet(query, {"status": status, "rule": only}),
    }
    may_decide = keeps(request, study.lab_id)
    context = {"study": study, "page": page, "may_decide": may_decide}
    return Content("flags/flags.html", context)


def decide(request: HttpRequest, flag_id: int) -> HttpResponse:
    """Confirm, dismiss or reopen a flag, with a note."""
    flag = find_flag(viewer_of(request), flag_id)
    keeper_or_404(request, flag.lab_id)
    status = request.POST.get("status", "")
    if status not in Flag.Status.values:
        raise Http404("There is no such decision.")
    person, note = signed_in_person(request), request.POST.get("note", "")
    with outcome_message(request, _("Your decision is kept, with its note.")):
        who = person.get_username()
        decide_flag(flag=flag, status=status, note=note, who=who, person=person)
    study = flag.study
    address = reverse("dashboard:flags", args=[study.lab.slug, study.slug])
    # Once decided, the flag is no longer among the open ones.
    return redirect(f"{address}?status=all&rule={flag.rule}#flag-{flag.pk}")


def _shown(study: Study, flags: Sequence[Flag]) -> Iterator[dict[str, Any]]:
    """Yield flags with links to their subjects, in five queries for all of them."""
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
        subjects = [links[pk] for pk in of_cells.ids if pk in links]
        subjects += [(f"{address}{pk}/", name % {"n": pk}) for pk in of_runs.ids]
        further = sum(it.count - len(it.ids) for it in (of_cells, of_runs))
        yield {
            "flag": flag,
            "evidence": evidence_words(flag.evidence),
            "subjects": subjects,
            "further": further,
            "count": len(subjects) + further,
            "decisions": decisions.get(flag.pk, ()),
        }


def _cell_links(study: Study, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return the address and the name of each cell."""
    cells = Cell.objects.filter(pk__in=ids)
    rows = list(cells.values_list("pk", "case__label", "system", *CIRCUMSTANCES))
    names = wording.system_names(measured_systems(study))
    address = _address("dashboard:cell", study.lab.slug, study.slug)
    links = {}
    for pk, label, system, *values in rows:
        circumstances = [
            wording.fact_text(Fact(name, str(value)))
            for name, value in zip(CIRCUMSTANCES, values, strict=True)
            if value and value != "single"
        ]
        text = ", ".join([label, names[system], *circumstances])
        links[pk] = (f"{address}{pk}/", text)
    return links


def _address(name: str, *place: str) -> str:
    """Return the common part of many addresses: resolving each one is slow."""
    return reverse(name, args=[*place, 0]).removesuffix("0/")


urlpatterns = [
    page(
        f"{STUDY}flags/",
        list_flags,
        "flags",
        walked=("?status=all",),
        tab=Tab(gettext_lazy("Flags"), 110),
    ),
    action("flags/<int:flag_id>/decide/", decide, "decide-flag"),
]
