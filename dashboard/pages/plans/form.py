"""The form of a new plan: what a person chose, as `create_plan` takes it."""

from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.planning import NUMBERS, ORDERS, PROGRAMS, TEXTS
from benchmarks.errors import InvalidError
from benchmarks.models import Study, System
from dashboard.kit.forms import LineField, cleaned
from dashboard.wording.states import ORDERS as ORDER_WORDS

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
