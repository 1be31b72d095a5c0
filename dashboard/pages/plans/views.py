"""The plans of a study: their list, one with its live state, and a new one."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError
from benchmarks.models import Plan
from benchmarks.plans.lists import find_plan, step_counts, visible_plans
from benchmarks.plans.planning import create_plan, stop_plan
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.routes import Tab, action, form_page, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    study_or_404,
    viewer_of,
)
from dashboard.pages.plans.form import CHOICES, FIRST, asked_plan, system_choices
from dashboard.pages.plans.page import plan_page

PLANS_A_PAGE = 50


def list_plans(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the plans of a study, the newest first."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    plans = visible_plans(viewer).filter(study=study)
    page = Paginator(plans, PLANS_A_PAGE).get_page(query_of(request).get("page"))
    shown = list(page.object_list)
    counts = step_counts(shown)
    context = {
        "study": study,
        "page": page,
        "plans": [(plan, counts[plan.pk]) for plan in shown],
        "may_keep": keeps(request, study.lab_id),
    }
    return render(request, "plans/plans.html", context)


def show_plan(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Show how far a plan is; the page keeps itself current while it is open."""
    plan = _plan_or_404(request, plan_id)
    query = query_of(request)
    context = {
        "plan": plan,
        "study": study_or_404(viewer_of(request), plan.study.lab.slug, plan.study.slug),
        "page": plan_page(plan, query),
        "may_keep": keeps(request, plan.lab_id),
    }
    return render(request, "plans/plan.html", context)


def make_plan(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the form of a new plan; store what was filled in."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    problem = wrong = ""
    if request.method == "POST":
        try:
            fields = asked_plan(study, request.POST)
            who = request.user.get_username()
            plan = create_plan(study=study, who=who, **fields)
            return redirect("dashboard:plan", plan.pk)
        except BenchmarksError as error:
            problem, wrong = wording.said(error.sentence), error.field
    # What was filled in; at first what the address asks for (`pages.across`).
    is_sent = request.method == "POST"
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
    status = 422 if problem else 200
    return render(request, "plans/new.html", context, status=status)


def stop(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Stop a plan: what waits is not done."""
    plan = _plan_or_404(request, plan_id)
    keeper_or_404(request, plan.lab_id)
    try:
        stop_plan(plan=plan)
        messages.success(request, _("The plan was stopped; running steps finish."))
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    return redirect("dashboard:plan", plan.pk)


def _plan_or_404(request: HttpRequest, plan_id: int) -> Plan:
    return find_plan(viewer_of(request), plan_id)


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
