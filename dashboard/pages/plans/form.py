"""The form of a new plan: what a person chose, as `create_plan` takes it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.planning import NUMBERS, ORDERS, PROGRAMS, TEXTS
from benchmarks.models import Study, System
from dashboard.kit.forms import LineField, NotChosenError, cleaned
from dashboard.wording.plans import ORDERS as ORDER_WORDS

LOAD_UNLESS_TOLD = "virtlab-linpack"


class PlanForm(forms.Form):
    """What a plan says beside its systems, tools and scenarios."""

    title = LineField(label=gettext_lazy("Title"), max_length=200)
    repetitions = forms.IntegerField(
        label=gettext_lazy("Repetitions"), min_value=1, max_value=200
    )
    warm_up = forms.IntegerField(
        label=gettext_lazy("Warm-up rounds"), min_value=0, max_value=10
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order"), choices=[(each, each) for each in ORDERS]
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
    "orders": [(each, ORDER_WORDS[each]) for each in ORDERS],
    "tools": tuple(PROGRAMS),
    "options": OPTIONS,
}


def asked_plan(study: Study, chosen: QueryDict) -> dict[str, Any]:
    """Return a plan as a service takes it, or raise what is missing."""
    said = cleaned(PlanForm(chosen))
    budget_s = said.pop("budget_min") * 60
    design = {name: said.pop(name) for name in ("repetitions", "warm_up", "order")}
    design["systems"] = _systems(study, chosen)
    works = _works(chosen)
    design["tools"] = list(works.values())
    design["scenarios"] = _scenarios(chosen, works)
    return {"design": design, "budget_s": budget_s, **said}


def systems_of(study: Study) -> list[System]:
    """Return the systems that may take part: those of the study's lab."""
    systems = System.objects.filter(lab=study.lab_id).select_related("host")
    return sorted(systems, key=lambda each: (each.host.slug, each.label.casefold()))


@dataclass(frozen=True)
class SystemChoice:
    """A system that may take part, and what was chosen of it."""

    system: System
    is_ticked: bool
    slots: object


def system_choices(
    study: Study, ticked: Collection[str], said: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the systems of the form: first those that the study has measured."""
    runs = study.runs.order_by().values_list("system", flat=True)
    measured = set(runs.distinct())
    choices = [
        SystemChoice(each, str(each.pk) in ticked, said.get(f"slots-{each.pk}", 1))
        for each in systems_of(study)
    ]
    others = [each for each in choices if each.system.pk not in measured]
    return {
        "measured": [each for each in choices if each.system.pk in measured],
        "others": others,
        "are_others_chosen": any(each.is_ticked for each in others),
    }


def _systems(study: Study, chosen: QueryDict) -> list[dict[str, int]]:
    known = {str(system.pk): system.pk for system in systems_of(study)}
    wanted = [known[each] for each in chosen.getlist("system") if each in known]
    if not wanted:
        raise NotChosenError(_("Choose at least one system."), "system")
    return [
        {"system": pk, "slots": _number(chosen.get(f"slots-{pk}"), 1)} for pk in wanted
    ]


def _works(chosen: QueryDict) -> dict[str, dict[str, Any]]:
    options = _options(chosen)
    return {
        tool: {"tool": tool, "options": options}
        for tool in chosen.getlist("tool")
        if tool in PROGRAMS
    }


def _options(chosen: QueryDict) -> dict[str, Any]:
    given = {name: chosen.get(f"option-{name}", "").strip() for name in OPTIONS}
    return {
        name: _number(text, -1) if name in NUMBERS else text
        for name, text in given.items()
        if text
    }


def _scenarios(
    chosen: QueryDict, works: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if chosen.get("single"):
        found.append({"kind": "single"})
    if chosen.get("parallel"):
        found.append({"kind": "parallel", "vms": _number(chosen.get("vms"), 0)})
    if chosen.get("under_load"):
        vms = _number(chosen.get("load_vms"), 0)
        load = {"tool": chosen.get("load", ""), "options": _options(chosen)}
        found.append({"kind": "under load", "vms": vms, "load": load})
    if chosen.get("combined"):
        found.append({"kind": "combined", "tools": list(works.values())})
    if not found:
        raise NotChosenError(_("Choose at least one scenario."), "single")
    return found


def _number(text: str | None, otherwise: int) -> int:
    """Return a whole number; what is none the plan itself refuses in words."""
    plain = (text or "").strip()
    is_whole = plain.isascii() and plain.isdigit() and len(plain) < 10
    return int(plain) if is_whole else otherwise
