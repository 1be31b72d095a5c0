from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.comparison_table import Fact
from benchmarks.models import Cell, Flag, FlagDecision, Job, Study
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.plausibility.rules import RULES
from benchmarks.studies.flags import (
    NO_SUBJECTS,
    cells_of_flags,
    decide_flag,
    find_flag,
    runs_of_flags,
)
from benchmarks.studies.overview import measured_systems
from dashboard import wording
from dashboard.kit.forms import outcome_message
from dashboard.kit.page_cache import PageContent, cached_study_page
from dashboard.kit.routes import Tab, action, page
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters
from dashboard.kit.viewers import (
    editor_or_404,
    is_editor,
    query_params,
    required_user,
    study_or_404,
    viewer_of,
)
from dashboard.wording.flag_evidence import evidence_items
from dashboard.wording.split_rule_text import split_paragraphs

ALL_STATUSES = "all"
FLAGS_SHOWN = 300
"""Maximum number of flags if one rule is selected."""
FLAGS_PER_RULE = 3
"""Maximum number of flags per rule if no rule is selected."""
SUBJECTS_SHOWN = 12
CELL_CIRCUMSTANCES = ("scenario", "vms", "slot", "load")


@cached_study_page
def list_flags(request: HttpRequest, lab: str, slug: str) -> PageContent:
    viewer, query = viewer_of(request), query_params(request)
    study = study_or_404(viewer, lab, slug)
    status = query.get("status", Flag.Status.OPEN)
    status = status if status in Flag.Status.values else ALL_STATUSES
    all_flags = Flag.objects.visible_to(viewer).current().filter(study=study)
    counts = Counter(all_flags.order_by().values_list("status", flat=True))
    selected = all_flags if status == ALL_STATUSES else all_flags.filter(status=status)
    flags = sorted(
        selected, key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk)
    )
    by_rule = {
        key: list(members)
        for key, members in groupby(flags, key=lambda flag: (flag.severity, flag.rule))
    }
    chosen_rule = query.get("rule", "")
    selected_rule = (
        chosen_rule if any(rule == chosen_rule for _, rule in by_rule) else ""
    )
    if selected_rule:
        by_rule = {
            key: rule_flags
            for key, rule_flags in by_rule.items()
            if key[1] == selected_rule
        }
    limit = FLAGS_SHOWN if selected_rule else FLAGS_PER_RULE
    first = [flag for members in by_rule.values() for flag in members[:limit]]
    entries = {entry["flag"].pk: entry for entry in _shown(study, first)}
    groups = []
    for (severity, name), members in by_rule.items():
        rule = RULES.get(name)
        group = {
            "rule": name,
            "title": _(rule.title) if rule else name,
            "documentation": split_paragraphs(_(rule.documentation)) if rule else (),
            "severity": severity,
            "count": len(members),
            "flags": [entries[flag.pk] for flag in members[:limit]],
            # Flags of the lowest severity are folded: such results may be correct.
            "is_folded": not selected_rule
            and len(by_rule) > 1
            and severity == SEVERITIES[-1],
        }
        groups.append(group)
    page = {
        "status": status,
        "rule": selected_rule,
        "choices": [
            *((name, counts[name]) for name in Flag.Status.values),
            (ALL_STATUSES, counts.total()),
        ],
        "groups": groups,
        "is_unchecked": Job.objects.filter(kind=Job.Kind.CHECK, study=study).exists(),
        "ignored_parameters": ignored_parameters(
            query, {"status": status, "rule": selected_rule}
        ),
    }
    may_decide = is_editor(request, study.lab_id)
    context = {"study": study, "page": page, "can_decide": may_decide}
    return PageContent("flags/flags.html", context)


def decide_on_flag(request: HttpRequest, flag_id: int) -> HttpResponse:
    flag = find_flag(viewer_of(request), flag_id)
    editor_or_404(request, flag.lab_id)
    status = request.POST.get("status", "")
    if status not in Flag.Status.values:
        raise Http404("Decision not found.")
    person, note = required_user(request), request.POST.get("note", "")
    with outcome_message(request, _("Your decision and note were saved.")):
        username = person.get_username()
        decide_flag(flag=flag, status=status, note=note, actor=username, person=person)
    study = flag.study
    address = reverse("dashboard:flags", args=[study.lab.slug, study.slug])
    # The list of all flags, because the flag is no longer among the open ones.
    return redirect(f"{address}?status=all&rule={flag.rule}#flag-{flag.pk}")


def _shown(study: Study, flags: Sequence[Flag]) -> Iterator[dict[str, Any]]:
    """Yield flags with links to their cells and runs, in five queries for all."""
    cells = cells_of_flags(flags, SUBJECTS_SHOWN)
    runs = runs_of_flags(flags, SUBJECTS_SHOWN)
    links = _cell_links(
        study, {pk for subject_ids in cells.values() for pk in subject_ids.ids}
    )
    decisions: dict[int, list[FlagDecision]] = defaultdict(list)
    for decision in FlagDecision.objects.filter(flag__in=flags).order_by("pk"):
        decisions[decision.flag_id].append(decision)
    run_url_prefix, run_name = _address("dashboard:run-detail"), _("run %(n)s")
    for flag in flags:
        cell_subjects = cells.get(flag.pk, NO_SUBJECTS)
        run_subjects = runs.get(flag.pk, NO_SUBJECTS)
        subjects = [links[pk] for pk in cell_subjects.ids if pk in links]
        subjects += [
            (f"{run_url_prefix}{pk}/", run_name % {"n": pk}) for pk in run_subjects.ids
        ]
        hidden_count = sum(
            links.count - len(links.ids) for links in (cell_subjects, run_subjects)
        )
        yield {
            "flag": flag,
            "evidence": evidence_items(flag.evidence),
            "subjects": subjects,
            "more_count": hidden_count,
            "count": len(subjects) + hidden_count,
            "decisions": decisions.get(flag.pk, ()),
        }


def _cell_links(study: Study, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    cells = Cell.objects.filter(pk__in=ids)
    rows = list(cells.values_list("pk", "case__label", "system", *CELL_CIRCUMSTANCES))
    names = wording.system_names(measured_systems(study))
    url_prefix = _address("dashboard:cell", study.lab.slug, study.slug)
    links = {}
    for pk, label, system, *values in rows:
        circumstances = [
            wording.fact_text(Fact(name, str(value)))
            for name, value in zip(CELL_CIRCUMSTANCES, values, strict=True)
            if value and value != "single"
        ]
        text = ", ".join([label, names[system], *circumstances])
        links[pk] = (f"{url_prefix}{pk}/", text)
    return links


def _address(name: str, *url_args: str) -> str:
    """Return the common prefix of many URLs, because `reverse` is slow."""
    return reverse(name, args=[*url_args, 0]).removesuffix("0/")


urlpatterns = [
    page(
        f"{STUDY_PATH}flags/",
        list_flags,
        "flags",
        example_urls=("?status=all",),
        tab=Tab(gettext_lazy("Flags"), 110),
    ),
    action("flags/<int:flag_id>/decide/", decide_on_flag, "decide-flag"),
]
