from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.comparison_table import Fact
from benchmarks.errors import InvalidError
from benchmarks.hypervisor_names import (
    HYPERVISOR_BY_SPELLING,
    VIRTUALIZATION_BY_SPELLING,
)
from benchmarks.models import Cell, Host, Lab, Membership, Study, System
from benchmarks.parsing.archives import MAX_TOTAL_BYTES
from benchmarks.parsing.start_times import time_zone
from benchmarks.parsing.system_from_folder_name import SystemGuess
from benchmarks.studies.systems import register_host
from benchmarks.uploads.archive_upload import FileTimes
from dashboard import wording
from dashboard.kit.forms import SingleLineField, cleaned_data_or_error
from dashboard.kit.url_parts import parse_id
from dashboard.pages.upload.files import LOCALES, readable_tools

GIB = 1024**3
NEW_HOST = "+"
MAX_VMS = 10_000
MAX_VCPUS = 100_000
MAX_MEMORY_GIB = 2**20
HYPERVISOR_NAMES = sorted({*HYPERVISOR_BY_SPELLING.values()}, key=str.casefold)

# The type of native systems is empty, so it is not a choice.
VIRTUALIZATION_CHOICES = sorted({*VIRTUALIZATION_BY_SPELLING.values(), "dom0"} - {""})

User = AbstractBaseUser | AnonymousUser


class CircumstancesForm(forms.Form):
    scenario = forms.ChoiceField(
        label=gettext_lazy("Scenario"), choices=list(wording.SCENARIO_NAMES.items())
    )
    vms = forms.IntegerField(
        label=gettext_lazy("Concurrent VMs"),
        required=False,
        min_value=1,
        max_value=MAX_VMS,
    )
    slot = SingleLineField(
        label=gettext_lazy("VM number"), required=False, max_length=20
    )
    load = SingleLineField(
        label=gettext_lazy("Background load"),
        required=False,
        max_length=200,
    )
    session = SingleLineField(
        label=gettext_lazy("Session"), required=False, max_length=200
    )


class FileTimesForm(forms.Form):
    zone = SingleLineField(
        label=gettext_lazy("Time zone of the machines' clocks"),
        required=False,
        max_length=100,
    )
    dates = forms.BooleanField(
        label=gettext_lazy("Use the files' dates"), required=False
    )

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"]
        if zone and time_zone(zone) is None:
            raise forms.ValidationError(
                _("Unknown time zone. Enter a name such as Europe/Berlin.")
            )
        return zone


class NewHostForm(forms.Form):
    new_host = SingleLineField(
        label=gettext_lazy("Machine name"),
        required=False,
        max_length=300,
    )


class NewStudyForm(forms.Form):
    title = SingleLineField(label=gettext_lazy("Title"), max_length=300)


class SystemForm(forms.Form):
    hypervisor = SingleLineField(label=gettext_lazy("Hypervisor"), max_length=100)
    hypervisor_version = SingleLineField(
        label=gettext_lazy("Version"), required=False, max_length=100
    )
    virtualization = SingleLineField(
        label=gettext_lazy("Type"), required=False, max_length=50
    )
    guest_os = SingleLineField(
        label=gettext_lazy("Guest OS"), required=False, max_length=200
    )
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
        label=gettext_lazy("Memory (GiB)"),
        required=False,
        min_value=0,
        max_value=MAX_MEMORY_GIB,
    )


@dataclass(frozen=True)
class UploadLab:
    lab: Lab
    may_upload: bool
    labs: tuple[Lab, ...]

    def upload_url(self, **chosen: str) -> str:
        query = urlencode({"lab": self.lab.slug, **chosen})
        return f"{reverse('dashboard:upload')}?{query}"


SystemChoices = list[tuple[Host, list[dict[str, str]]]]
"""Hosts, each with its systems as dicts of ID, label and studies."""


def find_upload_lab(user: User, slug: str) -> UploadLab | None:
    """Return the user's lab with this slug, or raise Http404.

    Without a slug: the first editable lab, the user's first lab, or None.
    """
    memberships = Membership.objects.filter(user=user.pk).select_related("lab")
    members = list(memberships.order_by("lab"))
    matching = [member for member in members if member.lab.slug == slug]
    if slug and not matching:
        raise Http404("Lab not found.")
    if not members:
        return None
    editors = [member for member in members if member.role in Membership.EDITORS]
    membership = (matching or editors or members)[0]
    return UploadLab(
        membership.lab, membership in editors, tuple(member.lab for member in members)
    )


def upload_page(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    studies = open_studies(lab)
    only_study = studies[0].slug if len(studies) == 1 else ""
    study = chosen.get("study") or only_study
    hosts, systems = upload_hosts(lab), upload_system_choices(lab)
    return {
        "studies": studies,
        "hosts": hosts,
        "host": only_host(study, hosts, systems),
        "systems": systems,
        "study": study,
        "system": chosen.get("system", ""),
        "scenario": chosen.get("scenario", ""),
        "limit_bytes": settings.UPLOAD_LIMIT_BYTES,
        "zip_limit_bytes": MAX_TOTAL_BYTES,
        "scenarios": wording.SCENARIO_NAMES,
        "readers": readable_tools(lab),
        "locales": LOCALES,
        "platforms": HYPERVISOR_NAMES,
        "types": VIRTUALIZATION_CHOICES,
    }


def open_studies(lab: Lab) -> list[Study]:
    studies = Study.objects.filter(lab=lab, archived_at=None, deleted_at=None)
    return list(studies.order_by("-pk"))


def upload_system_choices(lab: Lab) -> SystemChoices:
    pairs = Cell.objects.filter(lab=lab).values_list("system", "study__slug")
    studies: dict[int, list[str]] = defaultdict(list)
    for pk, slug in sorted(pairs.distinct().order_by()):
        studies[pk].append(slug)
    systems = System.objects.filter(lab=lab).select_related("host")
    ordered = sorted(
        systems,
        key=lambda system: (
            system.host.slug,
            not system.is_native,
            system.hypervisor.casefold(),
            system.hypervisor_version,
            system.guest_os.casefold(),
            system.pk,
        ),
    )
    choices: dict[Host, list[dict[str, str]]] = defaultdict(list)
    for system in ordered:
        sizes = {"vcpus": system.vcpus, "memory_bytes": system.memory_bytes}
        facts = [Fact(name, str(value)) for name, value in sizes.items() if value]
        label = [wording.system_name(system), *map(wording.short_fact_text, facts)]
        choice = {
            "id": str(system.pk),
            "label": ", ".join(label),
            "studies": " ".join(studies[system.pk]),
        }
        choices[system.host].append(choice)
    return list(choices.items())


def upload_hosts(lab: Lab) -> tuple[Host, ...]:
    return tuple(Host.objects.filter(lab=lab).order_by("slug"))


def only_host(study: str, hosts: Sequence[Host], systems: SystemChoices) -> str:
    """Return the only host of the study, or of the lab if the study is empty; or ""."""
    measured = [
        host.slug
        for host, choices in systems
        if any(study in choice["studies"].split() for choice in choices)
    ]
    slugs = measured or [host.slug for host in hosts]
    return slugs[0] if len(slugs) == 1 else ""


def upload_target(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return study, system and circumstances of an upload.

    Raises InvalidError for invalid values, Http404 for unknown objects.
    """
    if not chosen.get("study") or not chosen.get("system"):
        raise InvalidError("choice_required", _("Choose a study and a system first."))
    fields = cleaned_data_or_error(CircumstancesForm(chosen))
    return {
        "study": _lab_object_or_404(Study, lab, slug=chosen["study"]).slug,
        "system": _lab_object_or_404(System, lab, pk=parse_id(chosen["system"])).pk,
        **{name: value for name, value in fields.items() if value not in ("", None)},
    }


def read_file_times(chosen: Mapping[str, str]) -> FileTimes:
    fields = cleaned_data_or_error(FileTimesForm(chosen))
    return FileTimes(zone=fields["zone"], use_file_dates=fields["dates"])


def folder_form(
    lab: Lab, name: str, number: str, study: str, guess: SystemGuess
) -> dict[str, Any]:
    """Return the form that maps a folder to a system.

    The only ``host``, and the only ``system`` that fits ``guess``, are preselected.
    """
    facts = {
        field: value
        for field, value in vars(guess).items()
        if field != "sources" and value not in ("", None)
    }
    hosts, systems = upload_hosts(lab), upload_system_choices(lab)
    host = only_host(study, hosts, systems)
    ids: list[str] = []
    # Without a hypervisor, every system of the host would match.
    if host and "hypervisor" in facts:
        matching = System.objects.filter(lab=lab, host__slug=host, **facts)
        ids = [str(system.pk) for system in matching[:2]]
    memory = guess.memory_bytes
    return {
        "name": name,
        "number": number if number.isdigit() and len(number) < 5 else "0",
        "guess": guess,
        "memory_gib": f"{memory / GIB:g}" if memory else "",
        "hosts": hosts,
        "host": host,
        "systems": systems,
        "system": ids[0] if len(ids) == 1 else "",
    }


def read_system_form(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of a new system; raise Http404 for another lab's host.

    If the host is new, register it by its name.
    """
    if not chosen.get("host"):
        raise InvalidError(
            "choice_required", _("Choose the machine that the system ran on.")
        )
    if chosen["host"] == NEW_HOST:
        title = cleaned_data_or_error(NewHostForm(chosen))["new_host"]
        slug = slugify(title)[:100].strip("-")
        if not slug:
            raise InvalidError("choice_required", _("Enter a name for the machine."))
        host, _is_new = register_host(lab=lab, slug=slug, title=title)
    else:
        host = _lab_object_or_404(Host, lab, slug=chosen["host"])
    fields = cleaned_data_or_error(SystemForm(chosen))
    gib = fields.pop("memory_gib")
    # Django's typed choice field returns "" if nothing was chosen.
    fields["guest_bits"] = fields["guest_bits"] or None
    return {
        "host": host.slug,
        **fields,
        "memory_bytes": int(gib * GIB) if gib else None,
    }


def _lab_object_or_404(model: Any, lab: Lab, **values: Any) -> Any:
    instance = model.objects.filter(lab=lab, **values).first()
    if instance is None:
        raise Http404(f"{model._meta.verbose_name.capitalize()} not found.")
    return instance
