"""The plans of a study: their list, one with its live state, and a new one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.analysis.planning import NUMBERS, ORDERS, PROGRAMS, TEXTS
from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.models import Plan, PlanPart, PlanStep, Run, Study, System
from benchmarks.plans.planning import (
    PlanState,
    create_plan,
    find_plan,
    state_of,
    step_counts,
    steps_of,
    stop_plan,
    visible_plans,
)
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import UNPROCESSABLE, LineField, cleaned, outcome_message
from dashboard.kit.routes import Tab, action, form_page, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    kept_study_or_404,
    query_of,
    study_or_404,
    viewer_of,
)
from dashboard.wording.states import ORDERS as ORDER_WORDS
from dashboard.wording.states import round_name, share, step_title

PLANS_A_PAGE = 50
STEPS_A_PAGE = 50
MAPPED_AT_MOST = 1_000
SHORT_ROUND = 4
# An agent asks every 1.5 s or so (docs/agents.md): ten requests are missing.
SILENT_S = 15
# Slots that begin farther apart are tried again (docs/method.md).
LIMIT_MS = 100.0
# The ends of the strip of starts, in percent of its width.
LEFT, RIGHT = 1.0, 99.0
LOAD_UNLESS_TOLD = "virtlab-linpack"


def list_plans(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    plans = visible_plans(viewer).filter(study=study)
    shown = Paginator(plans, PLANS_A_PAGE).get_page(query_of(request).get("page"))
    counts = step_counts(list(shown.object_list))
    context = {
        "study": study,
        "page": shown,
        "plans": [(plan, counts[plan.pk]) for plan in shown.object_list],
        "may_keep": keeps(request, study.lab_id),
    }
    return render(request, "plans/plans.html", context)


def show_plan(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Show the progress of a plan; the page refreshes itself while it is open."""
    viewer, query = viewer_of(request), query_of(request)
    plan = find_plan(viewer, plan_id)
    state, now = state_of(plan), timezone.now()
    chosen = query.get("state", "")
    chosen = chosen if chosen in PlanStep.Status.values else ""
    rows = steps_of(plan)
    steps = Paginator(rows.filter(status=chosen) if chosen else rows, STEPS_A_PAGE)
    shown = steps.get_page(query.get("page"))
    rounds = _rounds(plan)
    page = {
        "state": state,
        # Running steps finish after a plan was stopped.
        "is_live": plan.status == Plan.Status.OPEN or bool(state.busy),
        "left_s": max(0.0, (plan.ends_at - now).total_seconds())
        if plan.ends_at
        else None,
        "failures": state.counts["failed"] + state.counts["not done"],
        "slots": _slots(state, now),
        "rounds": rounds,
        # Several short rounds fit beside each other.
        "has_short_rounds": all(len(it["squares"]) <= SHORT_ROUND for it in rounds),
        "starts": starts_of(state.spreads_us, state.overlaps),
        "names": wording.system_names(slot.system for slot in state.slots),
        "has_several_systems": len({it.system_id for it in state.slots}) > 1,
        "chosen": chosen,
        "page": shown,
        "steps": _shown_steps(plan, shown.object_list),
    }
    context = {
        "plan": plan,
        "study": study_or_404(viewer, plan.study.lab.slug, plan.study.slug),
        "page": page,
        "may_keep": keeps(request, plan.lab_id),
    }
    return render(request, "plans/plan.html", context)


def make_plan(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the form of a new plan; store what was filled in."""
    study = kept_study_or_404(request, lab, slug)
    problem = wrong = ""
    is_sent = request.method == "POST"
    if is_sent:
        try:
            fields = asked_plan(study, request.POST)
            who = request.user.get_username()
            plan = create_plan(study=study, who=who, **fields)
            return redirect("dashboard:plan", plan.pk)
        except BenchmarksError as error:
            problem, wrong = wording.said(error.sentence), error.field
    # At first the form has what the address asks for (`kit.filling`).
    chosen = request.POST if is_sent else request.GET
    filled = chosen.dict() if is_sent else {**FIRST, **query_of(request)}
    tools, options = CHOICES["tools"], CHOICES["options"]
    context = {
        "study": study,
        "problem": problem,
        "wrong": wrong,
        "filled": filled,
        "choices": CHOICES,
        "tools": [(name, name in chosen.getlist("tool")) for name in tools],
        "options": [(name, filled.get(f"option-{name}", "")) for name in options],
        **system_choices(study, chosen.getlist("system"), filled),
    }
    status = UNPROCESSABLE if problem else 200
    return render(request, "plans/new.html", context, status=status)


def stop(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Stop a plan: steps that wait are skipped."""
    plan = find_plan(viewer_of(request), plan_id)
    keeper_or_404(request, plan.lab_id)
    with outcome_message(request, _("The plan was stopped; running steps finish.")):
        stop_plan(plan=plan)
    return redirect("dashboard:plan", plan.pk)


def _slots(state: PlanState, now: datetime) -> list[dict[str, Any]]:
    """Return the slots, each with its part at work and whether its agent is silent."""
    at_work = {
        part.slot_id: part
        for step in state.busy
        for part in step.parts.all()
        if part.status in PlanPart.AT_WORK
    }
    slots = []
    for slot in state.slots:
        part, is_silent = at_work.get(slot.pk), False
        # A guest that runs a program need not ask; nor one that has not joined.
        if part is None and slot.seen_at is not None:
            is_silent = (now - slot.seen_at).total_seconds() > SILENT_S
        slots.append({"slot": slot, "part": part, "is_silent": is_silent})
    return slots


def _rounds(plan: Plan) -> list[dict[str, Any]]:
    """Return the steps by repetition; nothing if they are too many for a map."""
    steps = list(plan.steps.order_by("position")[: MAPPED_AT_MOST + 1])
    if len(steps) > MAPPED_AT_MOST:
        return []
    return [
        {
            "name": round_name(repetition),
            "squares": [
                # The style sheet has a class for each status.
                {"status": step.status.replace(" ", "-"), "title": step_title(step)}
                for step in members
            ],
        }
        for repetition, members in groupby(steps, key=lambda step: step.repetition)
    ]


def _shown_steps(plan: Plan, steps: Iterable[PlanStep]) -> list[dict[str, Any]]:
    """Return steps with the ids of their runs."""
    keys_of = [
        (step, [key for part in step.parts.all() for key in part.keys])
        for step in steps
    ]
    # All runs of one upload have its key: the first stands for them.
    every = {key for _step, keys in keys_of for key in keys}
    runs = Run.objects.filter(lab=plan.lab_id, key__in=every, part=1)
    ids = {str(key): pk for key, pk in runs.values_list("key", "pk")}
    return [
        {"step": step, "runs": [ids[key] for key in keys if key in ids]}
        for step, keys in keys_of
    ]


def starts_of(
    spreads_us: Sequence[int], overlaps: Sequence[float]
) -> dict[str, Any] | None:
    """Return the spreads of starts on a strip from 0 to ``end`` ms; None without."""
    spreads = sorted(microseconds / 1000 for microseconds in spreads_us)
    if not spreads:
        return None
    end = max(LIMIT_MS * 1.25, spreads[-1] * 1.05)

    def place(value: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * value / end:.2f}"

    def ms(value: float) -> str:
        return f"{value:.1f}" if value < 10 else f"{value:.0f}"

    return {
        "dots": [place(spread) for spread in spreads],
        "median_at": place(median(spreads)),
        "limit_at": place(LIMIT_MS),
        "end": f"{end:.0f}",
        "median": ms(median(spreads)),
        "most": ms(spreads[-1]),
        "n": len(spreads),
        "beyond": sum(spread > LIMIT_MS for spread in spreads),
        "least_overlap": share(min(overlaps)) if overlaps else "",
        "few_overlaps": sum(overlap < MIN_OVERLAP for overlap in overlaps),
        "overlaps": len(overlaps),
    }


class PlanForm(forms.Form):
    title = LineField(label=gettext_lazy("Title"), max_length=200)
    repetitions = forms.IntegerField(
        label=gettext_lazy("Repetitions"), min_value=1, max_value=200
    )
    warm_up = forms.IntegerField(
        label=gettext_lazy("Warm-up rounds"), min_value=0, max_value=10
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order"), choices=[(order, order) for order in ORDERS]
    )
    budget_min = forms.IntegerField(
        label=gettext_lazy("Budget, minutes"), min_value=1, max_value=500_000
    )
    barrier_s = forms.IntegerField(
        label=gettext_lazy("Wait at a barrier, s"), min_value=1, max_value=86_400
    )
    width_percent = forms.FloatField(
        label=gettext_lazy("Target width, %"),
        required=False,
        min_value=0.1,
        max_value=50,
    )
    most_repetitions = forms.IntegerField(
        label=gettext_lazy("At most"), required=False, min_value=1, max_value=200
    )


FIRST: Mapping[str, Any] = {
    "repetitions": 5,
    "warm_up": 1,
    "order": "random",
    "budget_min": 60,
    "barrier_s": 60,
    "single": "on",
    "vms": 2,
    "load_vms": 2,
    "load": LOAD_UNLESS_TOLD,
}
OPTIONS = (*NUMBERS, *TEXTS)
CHOICES = {
    "orders": [(order, ORDER_WORDS[order]) for order in ORDERS],
    "tools": tuple(PROGRAMS),
    "options": OPTIONS,
}


def asked_plan(study: Study, chosen: QueryDict) -> dict[str, Any]:
    """Return a plan as a service takes it, or raise what is missing."""
    stated = cleaned(PlanForm(chosen))
    budget_s = stated.pop("budget_min") * 60
    design = {name: stated.pop(name) for name in ("repetitions", "warm_up", "order")}

    # A system of another lab is left out, as if it were not there.
    known = {str(system.pk): system.pk for system in systems_of(study)}
    systems = [known[pk] for pk in chosen.getlist("system") if pk in known]
    if not systems:
        raise InvalidError("not_chosen", _("Choose at least one system.")).at("system")
    design["systems"] = [
        {"system": pk, "slots": _number(chosen.get(f"slots-{pk}"), 1)} for pk in systems
    ]

    options = _options(chosen)
    # A tool that is sent twice is one piece of work.
    wanted = dict.fromkeys(chosen.getlist("tool"))
    works = [{"tool": it, "options": options} for it in wanted if it in PROGRAMS]
    design["tools"] = works
    design["scenarios"] = _scenarios(chosen, works)
    return {"design": design, "budget_s": budget_s, **stated}


def _options(chosen: QueryDict) -> dict[str, Any]:
    given = {name: chosen.get(f"option-{name}", "").strip() for name in OPTIONS}
    # -1 is no option's number: the plan refuses it, with the option's name.
    return {
        name: _number(text, -1) if name in NUMBERS else text
        for name, text in given.items()
        if text
    }


def _scenarios(chosen: QueryDict, works: list[dict[str, Any]]) -> list[dict[str, Any]]:
    scenarios: list[dict[str, Any]] = []
    if chosen.get("single"):
        scenarios.append({"kind": "single"})
    if chosen.get("parallel"):
        scenarios.append({"kind": "parallel", "vms": _number(chosen.get("vms"), 0)})
    if chosen.get("under_load"):
        vms = _number(chosen.get("load_vms"), 0)
        load = {"tool": chosen.get("load", ""), "options": _options(chosen)}
        scenarios.append({"kind": "under load", "vms": vms, "load": load})
    if chosen.get("combined"):
        scenarios.append({"kind": "combined", "tools": works})
    if not scenarios:
        raise InvalidError("not_chosen", _("Choose at least one scenario.")).at(
            "single"
        )
    return scenarios


def _number(text: str | None, otherwise: int) -> int:
    """Return a whole number; what is none the plan itself refuses in words."""
    plain = (text or "").strip()
    is_whole = plain.isascii() and plain.isdigit() and len(plain) < 10
    return int(plain) if is_whole else otherwise


def system_choices(
    study: Study, ticked: Collection[str], filled: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the systems of the form, those that the study has measured apart."""
    measured = set(study.runs.values_list("system", flat=True).distinct())
    choices = [
        {
            "system": system,
            "is_ticked": str(system.pk) in ticked,
            "slots": filled.get(f"slots-{system.pk}", 1),
        }
        for system in systems_of(study)
    ]
    others = [it for it in choices if it["system"].pk not in measured]
    return {
        "measured": [it for it in choices if it["system"].pk in measured],
        "others": others,
        "are_others_chosen": any(it["is_ticked"] for it in others),
    }


def systems_of(study: Study) -> list[System]:
    """Return the systems that may take part: those of the study's lab."""
    systems = System.objects.filter(lab=study.lab_id).select_related("host")
    return sorted(systems, key=lambda it: (it.host.slug, it.label.casefold()))


urlpatterns = [
    page(
        f"{STUDY}plans/",
        list_plans,
        "plans",
        tab=Tab(gettext_lazy("Plans"), 80, needs="has_plans"),
    ),
    form_page(f"{STUDY}plans/new/", make_plan, "new-plan"),
    page("plans/<int:plan_id>/", show_plan, "plan", counted=("/plans/{plan}/",)),
    action("plans/<int:plan_id>/stop/", stop, "stop-plan"),
]
