"""Where uploaded files belong: what a person chose, checked against the lab."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.models import Host, Lab, Study, System
from benchmarks.platforms import HYPERVISORS, VIRTUALIZATIONS
from dashboard import wording
from dashboard.kit.addresses import id_in
from dashboard.kit.forms import Line, NotChosenError, cleaned

GIB = 1024**3
MAX_VMS = 10_000
MAX_VCPUS = 100_000
MAX_MEMORY_GIB = 2**20
PLATFORMS = sorted({*HYPERVISORS.values()}, key=str.casefold)
TYPES = sorted({*VIRTUALIZATIONS.values(), "dom0"} - {""})


class CircumstancesForm(forms.Form):
    """Under what circumstances the files were made; empty: not stated."""

    scenario = forms.ChoiceField(
        label=gettext_lazy("Scenario"), choices=list(wording.SCENARIOS.items())
    )
    vms = forms.IntegerField(
        label=gettext_lazy("VMs at once"),
        required=False,
        min_value=1,
        max_value=MAX_VMS,
    )
    slot = Line(label=gettext_lazy("Which of them"), required=False, max_length=20)
    load = Line(
        label=gettext_lazy("What else kept the machine busy"),
        required=False,
        max_length=200,
    )
    session = Line(label=gettext_lazy("Session"), required=False, max_length=200)


class SystemForm(forms.Form):
    """A system on a host that is registered."""

    hypervisor = Line(label=gettext_lazy("Hypervisor"), max_length=100)
    hypervisor_version = Line(
        label=gettext_lazy("Version"), required=False, max_length=100
    )
    virtualization = Line(label=gettext_lazy("Type"), required=False, max_length=50)
    guest_os = Line(label=gettext_lazy("Guest OS"), required=False, max_length=200)
    guest_bits = forms.TypedChoiceField(
        label=gettext_lazy("Bits"),
        required=False,
        choices=[("", ""), ("32", "32"), ("64", "64")],
        coerce=int,
    )
    vcpus = forms.IntegerField(
        label=gettext_lazy("vCPUs"), required=False, min_value=1, max_value=MAX_VCPUS
    )
    memory_gib = forms.DecimalField(
        label=gettext_lazy("Memory, GiB"),
        required=False,
        min_value=0,
        max_value=MAX_MEMORY_GIB,
    )


def target(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of an upload that says where it belongs.

    Raises NotChosenError with what is missing, and Http404 for a study or system
    that this lab does not have.
    """
    if not chosen.get("study") or not chosen.get("system"):
        raise NotChosenError(_("Choose the study and the system first."))
    said = cleaned(CircumstancesForm(chosen))
    return {
        "study": _of_lab(Study, lab, slug=chosen["study"]).slug,
        "system": _of_lab(System, lab, pk=id_in(chosen["system"])).pk,
        **{name: value for name, value in said.items() if value not in ("", None)},
    }


def description(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return a new system as a service takes it; Http404 for another lab's host."""
    host = _of_lab(Host, lab, slug=chosen.get("host", ""))
    said = cleaned(SystemForm(chosen))
    gib = said.pop("memory_gib")
    said["guest_bits"] = said["guest_bits"] or None
    return {
        "host": host.slug,
        **said,
        "memory_bytes": int(gib * GIB) if gib else None,
    }


def _of_lab(model: Any, lab: Lab, **wanted: Any) -> Any:
    """Return what the lab has by that name; what others have is not there at all."""
    found = model.objects.filter(lab=lab, **wanted).first()
    if found is None:
        raise Http404(f"There is no such {model._meta.verbose_name}.")
    return found
