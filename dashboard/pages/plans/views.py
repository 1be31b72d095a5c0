"""The plans of a study: their list, one with its live state, and a new one."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.errors import BenchmarksError
from benchmarks.models import Plan, PlanPart, PlanStep, Run
from benchmarks.plans.lists import (
    PlanState,
    find_plan,
    state_of,
    step_counts,
    steps_of,
    visible_plans,
)
from benchmarks.plans.planning import create_plan, stop_plan
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import UNPROCESSABLE, outcome_message
from dashboard.kit.routes import Tab, action, form_page, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    kept_study_or_404,
    query_of,
    study_or_404,
    viewer_of,
)
from dashboard.pages.plans.form import CHOICES, FIRST, asked_plan, system_choices
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


def list_plans(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the plans of a study, the newest first."""
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
    viewer = viewer_of(request)
    plan = find_plan(viewer, plan_id)
    context = {
        "plan": plan,
        "study": study_or_404(viewer, plan.study.lab.slug, plan.study.slug),
        "page": plan_page(plan, query_of(request)),
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


def plan_page(plan: Plan, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of a plan shows, in a fixed number of queries."""
    state, now = state_of(plan), timezone.now()
    chosen = query.get("state", "")
    chosen = chosen if chosen in PlanStep.Status.values else ""
    rows = steps_of(plan)
    steps = Paginator(rows.filter(status=chosen) if chosen else rows, STEPS_A_PAGE)
    shown = steps.get_page(query.get("page"))
    rounds = _rounds(plan)
    return {
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
