from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from django.urls import reverse
from django.utils.text import slugify

from benchmarks.hypervisor_names import NATIVE, PLATFORMS
from benchmarks.work_classes import WORK_CLASSES

WORK_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "application-database": "databases",
        "application-web": "web-servers",
        "application-build": "builds",
        "application-tail-latency": "services-with-latency-limit",
    }
)
"""Names in addresses that differ from the slug of the class."""
_WORK_BY_NAME: Final = {name: slug for slug, name in WORK_NAMES.items()}


@lru_cache(512)
def hypervisor_slug(name: str) -> str:
    # Names without Latin letters and digits have no other address.
    return slugify(name) or slugify(name.encode().hex())


def hypervisor_of_slug(slug: str, measured: Iterable[str] = ()) -> str | None:
    """Return the hypervisor of this slug, of the measured and all known ones."""
    names = {hypervisor_slug(name): name for name in PLATFORMS if name != NATIVE}
    names |= {hypervisor_slug(name): name for name in measured}
    return names.get(slug)


def work_of_name(name: str) -> str | None:
    slug = _WORK_BY_NAME.get(name, name)
    return slug if slug in WORK_CLASSES else None


def work_name_in_url(work: str) -> str:
    return WORK_NAMES.get(work, work)


def hypervisor_url(name: str) -> str:
    return reverse("dashboard:hypervisor", args=[hypervisor_slug(name)])


def work_url(work: str) -> str:
    return reverse("dashboard:work", args=[work_name_in_url(work)])


def machine_url(slug: str) -> str:
    return reverse("dashboard:machine", args=[slug])
