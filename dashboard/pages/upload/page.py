"""The upload page: a person's labs, and what files of one of them may belong to."""

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

from benchmarks.comparing.table import Fact
from benchmarks.errors import InvalidError
from benchmarks.models import Cell, Host, Lab, Membership, Study, System
from benchmarks.parsing.archives import MAX_TOTAL_BYTES
from benchmarks.parsing.folders import Guess
from benchmarks.parsing.starts import time_zone
from benchmarks.platforms import HYPERVISORS, VIRTUALIZATIONS
from benchmarks.studies.systems import register_host
from benchmarks.uploads.folders import Times
from dashboard import wording
from dashboard.kit.addresses import id_in
from dashboard.kit.forms import LineField, cleaned
from dashboard.pages.upload.files import LOCALES, readers

GIB = 1024**3
NOT_LISTED = "+"
MAX_VMS = 10_000
MAX_VCPUS = 100_000
MAX_MEMORY_GIB = 2**20
PLATFORMS = sorted({*HYPERVISORS.values()}, key=str.casefold)

# The empty one is a native machine's.
TYPES = sorted({*VIRTUALIZATIONS.values(), "dom0"} - {""})

User = AbstractBaseUser | AnonymousUser


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
    slot = LineField(label=gettext_lazy("VM number"), required=False, max_length=20)
    load = LineField(
        label=gettext_lazy("Background load"),
        required=False,
        max_length=200,
    )
    session = LineField(label=gettext_lazy("Session"), required=False, max_length=200)


class TimesForm(forms.Form):
    """What is said of when files were written; empty: nothing."""

    zone = LineField(
        label=gettext_lazy("Time zone of the machines' clocks"),
        required=False,
        max_length=100,
    )
    dates = forms.BooleanField(
        label=gettext_lazy("Use the files' dates"), required=False
    )

    def clean_zone(self) -> str:
        """Return the zone if there is one of that name."""
        zone: str = self.cleaned_data["zone"]
        if zone and time_zone(zone) is None:
            raise forms.ValidationError(
                _("No time zone has this name. They are called like Europe/Berlin.")
            )
        return zone


class NewHostForm(forms.Form):
    """A machine by its name alone; facts may follow on its own page."""

    new_host = LineField(
        label=gettext_lazy("What that machine is called"),
        required=False,
        max_length=300,
    )


class SystemForm(forms.Form):
    """A system on a host that is registered."""

    hypervisor = LineField(label=gettext_lazy("Hypervisor"), max_length=100)
    hypervisor_version = LineField(
        label=gettext_lazy("Version"), required=False, max_length=100
    )
    virtualization = LineField(
        label=gettext_lazy("Type"), required=False, max_length=50
    )
    guest_os = LineField(label=gettext_lazy("Guest OS"), required=False, max_length=200)
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


@dataclass(frozen=True)
class Place:
    """The lab that a person uploads to, and the others they belong to."""

    lab: Lab
    may_upload: bool
    labs: tuple[Lab, ...]

    def address(self, **chosen: str) -> str:
        """Return the address of the page for this lab, with what is chosen already."""
        query = urlencode({"lab": self.lab.slug, **chosen})
        return f"{reverse('dashboard:upload')}?{query}"


SystemChoices = list[tuple[Host, list[dict[str, str]]]]
"""A lab's hosts, each with the ids, names and studies of its systems."""


def place_of(user: User, wanted: str) -> Place | None:
    """Return the lab of that slug, else one to upload to; None without labs."""
    own = Membership.objects.filter(user=user.pk).select_related("lab")
    members = list(own.order_by("lab"))
    named = [member for member in members if member.lab.slug == wanted]
    if wanted and not named:
        raise Http404("There is no such lab.")
    if not members:
        return None
    keepers = [member for member in members if member.role in Membership.KEEPERS]
    here = (named or keepers or members)[0]
    return Place(here.lab, here in keepers, tuple(member.lab for member in members))


def upload_page(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return what the form offers; a single study is chosen already."""
    open_studies = Study.objects.filter(lab=lab, archived_at=None, deleted_at=None)
    studies = list(open_studies.order_by("-pk"))
    only = studies[0].slug if len(studies) == 1 else ""
    study = chosen.get("study") or only
    hosts, systems = hosts_of(lab), system_choices(lab)
    return {
        "studies": studies,
        "hosts": hosts,
        "host": known_host(study, hosts, systems),
        "systems": systems,
        "study": study,
        "system": chosen.get("system", ""),
        "scenario": chosen.get("scenario", ""),
        "limit_bytes": settings.UPLOAD_LIMIT_BYTES,
        "zip_limit_bytes": MAX_TOTAL_BYTES,
        "scenarios": wording.SCENARIOS,
        "readers": readers(lab),
        "locales": LOCALES,
        "platforms": PLATFORMS,
        "types": TYPES,
    }


def system_choices(lab: Lab) -> SystemChoices:
    """Return a lab's systems by their hosts, native ones first."""
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
        label = [wording.system_name(system), *map(wording.fact_in_brief, facts)]
        choice = {
            "id": str(system.pk),
            "label": ", ".join(label),
            "studies": " ".join(studies[system.pk]),
        }
        choices[system.host].append(choice)
    return list(choices.items())


def hosts_of(lab: Lab) -> tuple[Host, ...]:
    """Return a lab's machines by their names in addresses."""
    return tuple(Host.objects.filter(lab=lab).order_by("slug"))


def known_host(study: str, hosts: Sequence[Host], systems: SystemChoices) -> str:
    """Return the slug of the only machine of a study or of the lab; empty otherwise."""
    measured = [
        host.slug
        for host, choices in systems
        if any(study in choice["studies"].split() for choice in choices)
    ]
    known = measured or [host.slug for host in hosts]
    return known[0] if len(known) == 1 else ""


def target(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return where an upload belongs; raise InvalidError for what is missing."""
    if not chosen.get("study") or not chosen.get("system"):
        raise InvalidError("not_chosen", _("Choose the study and the system first."))
    stated = cleaned(CircumstancesForm(chosen))
    return {
        "study": _of_lab(Study, lab, slug=chosen["study"]).slug,
        "system": _of_lab(System, lab, pk=id_in(chosen["system"])).pk,
        **{name: value for name, value in stated.items() if value not in ("", None)},
    }


def times(chosen: Mapping[str, str]) -> Times:
    """Return what is said of when files were written."""
    stated = cleaned(TimesForm(chosen))
    return Times(zone=stated["zone"], takes_dates=stated["dates"])


def folder(lab: Lab, name: str, place: str, study: str, guess: Guess) -> dict[str, Any]:
    """Return what the form asks of a folder that is to be a system.

    ``host`` is the only possible one, ``system`` the only one of that host that fits;
    ``place`` tells the folder from others of the page.
    """
    known = {
        field: value
        for field, value in vars(guess).items()
        if field != "said" and value not in ("", None)
    }
    hosts, systems = hosts_of(lab), system_choices(lab)
    host = known_host(study, hosts, systems)
    ids: list[str] = []
    # Without a hypervisor every system would fit, and without a host a KVM of another.
    if host and "hypervisor" in known:
        fitting = System.objects.filter(lab=lab, host__slug=host, **known)
        ids = [str(system.pk) for system in fitting[:2]]
    memory = guess.memory_bytes
    return {
        "name": name,
        "place": place if place.isdigit() and len(place) < 5 else "0",
        "guess": guess,
        "memory_gib": f"{memory / GIB:g}" if memory else "",
        "hosts": hosts,
        "host": host,
        "systems": systems,
        "system": ids[0] if len(ids) == 1 else "",
    }


def description(lab: Lab, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return a new system as a service takes it; Http404 for another lab's host.

    A host that is not listed is registered by its name.
    """
    if not chosen.get("host"):
        raise InvalidError(
            "not_chosen", _("Choose the machine that the system ran on.")
        )
    if chosen["host"] == NOT_LISTED:
        title = cleaned(NewHostForm(chosen))["new_host"]
        slug = slugify(title)[:100].strip("-")
        if not slug:
            raise InvalidError("not_chosen", _("Give the machine a name."))
        host, _is_new = register_host(lab=lab, slug=slug, title=title)
    else:
        host = _of_lab(Host, lab, slug=chosen["host"])
    stated = cleaned(SystemForm(chosen))
    gib = stated.pop("memory_gib")
    # Django's typed choice is an empty text where nothing was chosen.
    stated["guest_bits"] = stated["guest_bits"] or None
    return {
        "host": host.slug,
        **stated,
        "memory_bytes": int(gib * GIB) if gib else None,
    }


def _of_lab(model: Any, lab: Lab, **wanted: Any) -> Any:
    """Return what the lab has by that name; what others have is not there at all."""
    owned = model.objects.filter(lab=lab, **wanted).first()
    if owned is None:
        raise Http404(f"There is no such {model._meta.verbose_name}.")
    return owned
