"""The upload page: a person's labs, and what files of one of them may belong to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.comparing.table import Fact
from benchmarks.models import Cell, Host, Lab, Membership, Study, System
from dashboard import wording
from dashboard.pages.upload.archives import MAX_TOTAL_BYTES
from dashboard.pages.upload.form import PLATFORMS, TYPES
from dashboard.pages.upload.previews import LOCALES, READERS
from dashboard.wording import Text

User = AbstractBaseUser | AnonymousUser


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


@dataclass(frozen=True)
class SystemChoice:
    """A system in words, and the studies that have measured it."""

    id: str
    label: str
    studies: str


@dataclass(frozen=True)
class UploadPage:
    """What the form offers."""

    studies: tuple[Study, ...]
    hosts: tuple[Host, ...]
    systems: tuple[tuple[Host, tuple[SystemChoice, ...]], ...]
    study: str
    system: str
    scenario: str
    limit_bytes: int
    zip_limit_bytes: int
    scenarios: Mapping[str, Text]
    readers: Mapping[str, str]
    locales: Mapping[str, str]
    platforms: Sequence[str]
    types: Sequence[str]


def place_of(user: User, wanted: str) -> Place | None:
    """Return where a person is: in the lab of that slug, else where they may upload.

    None if they belong to no lab; Http404 for a lab that is not theirs.
    """
    mine = list(
        Membership.objects.filter(user=user.pk).select_related("lab").order_by("lab")
    )
    if wanted and wanted not in {each.lab.slug for each in mine}:
        raise Http404("There is no such lab.")
    if not mine:
        return None
    able = [each for each in mine if each.role in Membership.KEEPERS]
    named = [each for each in mine if each.lab.slug == wanted]
    here = (named or able or mine)[0]
    return Place(here.lab, here in able, tuple(each.lab for each in mine))


def upload_page(lab: Lab, chosen: Mapping[str, str]) -> UploadPage:
    """Return what the form offers; a single study needs no choosing."""
    studies = tuple(Study.objects.filter(lab=lab).order_by("-pk"))
    only = studies[0].slug if len(studies) == 1 else ""
    return UploadPage(
        studies=studies,
        hosts=tuple(Host.objects.filter(lab=lab).order_by("slug")),
        systems=system_choices(lab),
        study=chosen.get("study") or only,
        system=chosen.get("system", ""),
        scenario=chosen.get("scenario", ""),
        limit_bytes=settings.UPLOAD_LIMIT_BYTES,
        zip_limit_bytes=MAX_TOTAL_BYTES,
        scenarios=wording.SCENARIOS,
        readers=READERS,
        locales=LOCALES,
        platforms=PLATFORMS,
        types=TYPES,
    )


def system_choices(lab: Lab) -> tuple[tuple[Host, tuple[SystemChoice, ...]], ...]:
    """Return a lab's systems by their hosts, native ones first."""
    systems = System.objects.filter(lab=lab).select_related("host")
    ordered = sorted(systems, key=_order)
    measured = _measured(lab)
    return tuple(
        (host, tuple(_choice(each, measured[each.pk]) for each in group))
        for host, group in groupby(ordered, key=lambda each: each.host)
    )


def _choice(system: System, studies: str) -> SystemChoice:
    sizes = {"vcpus": system.vcpus, "memory_bytes": system.memory_bytes}
    stated = [Fact(name, str(value)) for name, value in sizes.items() if value]
    label = [wording.system_name(system), *map(wording.fact_in_brief, stated)]
    return SystemChoice(str(system.pk), ", ".join(label), studies)


def _order(system: System) -> tuple[Any, ...]:
    return (
        system.host.slug,
        not system.is_native,
        system.hypervisor.casefold(),
        system.hypervisor_version,
        system.guest_os.casefold(),
        system.pk,
    )


def _measured(lab: Lab) -> dict[int, str]:
    """Return the slugs of the studies that have cells of a system."""
    pairs = Cell.objects.filter(lab=lab).values_list("system", "study__slug")
    found: dict[int, set[str]] = defaultdict(set)
    for system, slug in pairs.distinct().order_by():
        found[system].add(slug)
    return defaultdict(str, {pk: " ".join(sorted(each)) for pk, each in found.items()})
