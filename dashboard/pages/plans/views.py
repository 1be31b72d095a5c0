from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.corun_statistics import MIN_OVERLAP
from benchmarks.analysis.plan_steps import (
    NUMBER_OPTIONS,
    PROGRAMS,
    STEP_ORDERS,
    TEXT_OPTIONS,
)
from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.models import Plan, PlanPart, PlanStep, Run, Study, System
from benchmarks.plans.planning import (
    PlanState,
    create_plan,
    find_plan,
    plan_state,
    plan_steps,
    step_counts,
    stop_plan,
    visible_plans,
)
from benchmarks.plans.setting_variants import SETTING_LEVELS
from benchmarks.system_options import VOCABULARY
from dashboard import wording
from dashboard.kit.forms import (
    UNPROCESSABLE,
    SingleLineField,
    cleaned_data_or_error,
    outcome_message,
)
from dashboard.kit.routes import Tab, action, form_page, page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import (
    editable_study_or_404,
    editor_or_404,
    is_editor,
    query_params,
    study_or_404,
    viewer_of,
)
from dashboard.wording.plans import (
    STEP_ORDER_NAMES,
    round_name,
    rounded_percent,
    step_title,
)

PLANS_PER_PAGE = 50
STEPS_PER_PAGE = 50
MAX_MAPPED_STEPS = 1_000
SHORT_ROUND = 4
# Ten missed requests: agents request work every 1.5 s (docs/agents.md).
AGENT_SILENT_S = 15
START_SPREAD_LIMIT_MS = 100.0
# Ends of the axis that shows the spread of starts, in percent of the strip's width.
STRIP_LEFT_PERCENT, STRIP_RIGHT_PERCENT = 1.0, 99.0
DEFAULT_LOAD = "virtlab-linpack"


def list_plans(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    plans = visible_plans(viewer).filter(study=study)
    current_page = Paginator(plans, PLANS_PER_PAGE).get_page(
        query_params(request).get("page")
    )
    counts = step_counts(list(current_page.object_list))
    context = {
        "study": study,
        "page": current_page,
        "plans": [(plan, counts[plan.pk]) for plan in current_page.object_list],
        "can_edit": is_editor(request, study.lab_id),
    }
    return render(request, "plans/plans.html", context)


def show_plan(request: HttpRequest, plan_id: int) -> HttpResponse:
    viewer, query = viewer_of(request), query_params(request)
    plan = find_plan(viewer, plan_id)
    state, now = plan_state(plan), timezone.now()
    status_filter = query.get("state", "")
    status_filter = status_filter if status_filter in PlanStep.Status.values else ""
    rows = plan_steps(plan)
    steps = Paginator(
        rows.filter(status=status_filter) if status_filter else rows, STEPS_PER_PAGE
    )
    current_page = steps.get_page(query.get("page"))
    rounds = _rounds(plan)
    page = {
        "state": state,
        # Steps that run when a plan is stopped still finish.
        "is_live": plan.status == Plan.Status.OPEN or bool(state.active_steps),
        "left_s": max(0.0, (plan.ends_at - now).total_seconds())
        if plan.ends_at
        else None,
        "failures": state.counts["failed"] + state.counts["skipped"],
        "slots": _slots(state, now),
        "rounds": rounds,
        "has_short_rounds": all(
            len(shown_round["steps"]) <= SHORT_ROUND for shown_round in rounds
        ),
        "starts": start_spread_strip(state.spreads_us, state.overlaps),
        "names": wording.system_names(slot.system for slot in state.slots),
        "has_several_systems": len({slot.system_id for slot in state.slots}) > 1,
        "chosen": status_filter,
        "page": current_page,
        "steps": _shown_steps(plan, current_page.object_list),
    }
    context = {
        "plan": plan,
        "study": study_or_404(viewer, plan.study.lab.slug, plan.study.slug),
        "page": page,
        "can_edit": is_editor(request, plan.lab_id),
    }
    return render(request, "plans/plan.html", context)


def create_plan_view(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    problem = error_field = ""
    is_post = request.method == "POST"
    if is_post:
        try:
            fields = read_plan_form(study, request.POST)
            username = request.user.get_username()
            plan = create_plan(study=study, actor=username, **fields)
            return redirect("dashboard:plan", plan.pk)
        except BenchmarksError as error:
            problem, error_field = wording.translate_text(error.sentence), error.field
    chosen = request.POST if is_post else request.GET
    values = chosen.dict() if is_post else {**INITIAL_VALUES, **query_params(request)}
    tools, options = FORM_CHOICES["tools"], FORM_CHOICES["options"]
    context = {
        "study": study,
        "problem": problem,
        "wrong": error_field,
        "values": values,
        "choices": FORM_CHOICES,
        "tools": [(name, name in chosen.getlist("tool")) for name in tools],
        "options": [(name, values.get(f"option-{name}", "")) for name in options],
        "settings": plan_settings(chosen.getlist("setting")),
        "settings_query": SETTINGS_QUERY,
        **plan_system_choices(study, chosen.getlist("system"), values),
    }
    status = UNPROCESSABLE if problem else 200
    return render(request, "plans/new.html", context, status=status)


def stop_plan_view(request: HttpRequest, plan_id: int) -> HttpResponse:
    plan = find_plan(viewer_of(request), plan_id)
    editor_or_404(request, plan.lab_id)
    with outcome_message(request, _("Plan stopped. Running steps will finish.")):
        stop_plan(plan=plan)
    return redirect("dashboard:plan", plan.pk)


def _slots(state: PlanState, now: datetime) -> list[dict[str, Any]]:
    current_parts = {
        part.slot_id: part
        for step in state.active_steps
        for part in step.parts.all()
        if part.status in PlanPart.IN_PROGRESS
    }
    slots = []
    for slot in state.slots:
        part, is_silent = current_parts.get(slot.pk), False
        # Agents request no work while they run a program and before they join.
        if part is None and slot.last_seen_at is not None:
            is_silent = (now - slot.last_seen_at).total_seconds() > AGENT_SILENT_S
        slots.append({"slot": slot, "part": part, "is_silent": is_silent})
    return slots


def _rounds(plan: Plan) -> list[dict[str, Any]]:
    steps = list(plan.steps.order_by("position")[: MAX_MAPPED_STEPS + 1])
    if len(steps) > MAX_MAPPED_STEPS:
        return []
    return [
        {
            "name": round_name(repetition),
            "steps": [
                {"status": step.status, "title": step_title(step)} for step in members
            ],
        }
        for repetition, members in groupby(steps, key=lambda step: step.repetition)
    ]


def _shown_steps(plan: Plan, steps: Iterable[PlanStep]) -> list[dict[str, Any]]:
    keys_by_step = [
        (step, [key for part in step.parts.all() for key in part.run_keys])
        for step in steps
    ]
    # All runs of an upload have its key; link to the first of them.
    run_keys = {key for _step, keys in keys_by_step for key in keys}
    runs = Run.objects.filter(lab=plan.lab_id, key__in=run_keys, upload_position=1)
    ids = {str(key): pk for key, pk in runs.values_list("key", "pk")}
    return [
        {"step": step, "runs": [ids[key] for key in keys if key in ids]}
        for step, keys in keys_by_step
    ]


def start_spread_strip(
    spreads_us: Sequence[int], overlaps: Sequence[float]
) -> dict[str, Any] | None:
    """Return a strip with the spread of starts of each co-run; None without any.

    Positions are in percent.
    """
    spreads = sorted(microseconds / 1000 for microseconds in spreads_us)
    if not spreads:
        return None
    end = max(START_SPREAD_LIMIT_MS * 1.25, spreads[-1] * 1.05)

    def position(value: float) -> str:
        width = STRIP_RIGHT_PERCENT - STRIP_LEFT_PERCENT
        return f"{STRIP_LEFT_PERCENT + width * value / end:.2f}"

    def ms(value: float) -> str:
        return f"{value:.1f}" if value < 10 else f"{value:.0f}"

    return {
        "dots": [position(spread) for spread in spreads],
        "median_at": position(median(spreads)),
        "limit_at": position(START_SPREAD_LIMIT_MS),
        "end": f"{end:.0f}",
        "median": ms(median(spreads)),
        "most": ms(spreads[-1]),
        "n": len(spreads),
        "beyond": sum(spread > START_SPREAD_LIMIT_MS for spread in spreads),
        "least_overlap": rounded_percent(min(overlaps)) if overlaps else "",
        "few_overlaps": sum(overlap < MIN_OVERLAP for overlap in overlaps),
        "overlaps": len(overlaps),
    }


class PlanForm(forms.Form):
    title = SingleLineField(label=gettext_lazy("Title"), max_length=200)
    repetitions = forms.IntegerField(
        label=gettext_lazy("Repetitions"), min_value=1, max_value=200
    )
    warm_up_rounds = forms.IntegerField(
        label=gettext_lazy("Warm-up rounds"), min_value=0, max_value=10
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order"), choices=[(order, order) for order in STEP_ORDERS]
    )
    budget_min = forms.IntegerField(
        label=gettext_lazy("Budget (minutes)"), min_value=1, max_value=500_000
    )
    barrier_timeout_s = forms.IntegerField(
        label=gettext_lazy("Barrier timeout (s)"), min_value=1, max_value=86_400
    )
    target_width_percent = forms.FloatField(
        label=gettext_lazy("Target interval width (±%)"),
        required=False,
        min_value=0.1,
        max_value=50,
    )
    max_repetitions = forms.IntegerField(
        label=gettext_lazy("Maximum repetitions"),
        required=False,
        min_value=1,
        max_value=200,
    )


INITIAL_VALUES: Mapping[str, Any] = {
    "repetitions": 5,
    "warm_up_rounds": 1,
    "order": "random",
    "budget_min": 60,
    "barrier_timeout_s": 60,
    "single": "on",
    "vms": 2,
    "load_vms": 2,
    "load": DEFAULT_LOAD,
}
# A plan of all settings of disk and memory.
SETTINGS_QUERY = urlencode(
    {"setting": list(SETTING_LEVELS), "tool": "virtlab-system", "repetitions": 10},
    doseq=True,
)
PLAN_OPTIONS = (*NUMBER_OPTIONS, *TEXT_OPTIONS)
FORM_CHOICES = {
    "orders": [(order, STEP_ORDER_NAMES[order]) for order in STEP_ORDERS],
    "tools": tuple(PROGRAMS),
    "options": PLAN_OPTIONS,
}


def read_plan_form(study: Study, chosen: QueryDict) -> dict[str, Any]:
    fields = cleaned_data_or_error(PlanForm(chosen))
    budget_s = fields.pop("budget_min") * 60
    names = ("repetitions", "order", "warm_up_rounds")
    design = {name: fields.pop(name) for name in names}

    # IDs of other labs' systems are ignored.
    own_ids = {str(system.pk): system.pk for system in plan_systems(study)}
    systems = [own_ids[pk] for pk in chosen.getlist("system") if pk in own_ids]
    if not systems:
        raise InvalidError(
            "choice_required", _("Choose at least one system.")
        ).for_field("system")
    settings = [name for name in SETTING_LEVELS if name in chosen.getlist("setting")]
    design["systems"] = [
        {
            "system": pk,
            "slots": _number(chosen.get(f"slots-{pk}"), 1),
            "settings": settings,
        }
        for pk in systems
    ]

    options = _options(chosen)
    tools = dict.fromkeys(chosen.getlist("tool"))
    works = [{"tool": tool, "options": options} for tool in tools if tool in PROGRAMS]
    design["tools"] = works
    design["scenarios"] = _scenarios(chosen, works)
    return {"design": design, "budget_s": budget_s, **fields}


def _options(chosen: QueryDict) -> dict[str, Any]:
    texts = {name: chosen.get(f"option-{name}", "").strip() for name in PLAN_OPTIONS}
    # -1 is invalid for every option, so the error of the plan names the option.
    return {
        name: _number(text, -1) if name in NUMBER_OPTIONS else text
        for name, text in texts.items()
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
        raise InvalidError(
            "choice_required", _("Choose at least one scenario.")
        ).for_field("single")
    return scenarios


def _number(text: str | None, default: int) -> int:
    digits = (text or "").strip()
    is_whole = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_whole else default


def plan_system_choices(
    study: Study, selected_ids: Collection[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    measured = set(study.runs.values_list("system", flat=True).distinct())
    choices = [
        {
            "system": system,
            "is_ticked": str(system.pk) in selected_ids,
            "slots": values.get(f"slots-{system.pk}", 1),
        }
        for system in plan_systems(study)
    ]
    others = [choice for choice in choices if choice["system"].pk not in measured]
    return {
        "measured": [choice for choice in choices if choice["system"].pk in measured],
        "others": others,
        "are_others_chosen": any(choice["is_ticked"] for choice in others),
    }


def plan_settings(chosen: Collection[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": _(VOCABULARY[name].title),
            "levels": ", ".join(levels),
            "is_ticked": name in chosen,
        }
        for name, levels in SETTING_LEVELS.items()
    ]


def plan_systems(study: Study) -> list[System]:
    systems = System.objects.filter(lab=study.lab_id).select_related("host")
    return sorted(
        systems, key=lambda system: (system.host.slug, system.label.casefold())
    )


urlpatterns = [
    page(
        f"{STUDY_PATH}plans/",
        list_plans,
        "plans",
        tab=Tab(gettext_lazy("Plans"), 80, required_attribute="has_plans"),
    ),
    form_page(f"{STUDY_PATH}plans/new/", create_plan_view, "new-plan"),
    page(
        "plans/<int:plan_id>/", show_plan, "plan", query_count_urls=("/plans/{plan}/",)
    ),
    action("plans/<int:plan_id>/stop/", stop_plan_view, "stop-plan"),
]
