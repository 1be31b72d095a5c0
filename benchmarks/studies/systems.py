"""Registration of machines and systems."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from benchmarks.errors import UnknownNameError, already_exists_error
from benchmarks.fingerprints import (
    SystemDescription,
    display_parameters,
    system_fingerprint,
)
from benchmarks.hypervisor_names import canonical_platform, is_emulation
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Host, Lab, Study, System
from benchmarks.sentences import Sentence
from benchmarks.text_validation import normalize_whitespace


@transaction.atomic
def register_host(
    *, lab: Lab, slug: str, title: str = "", facts: dict[str, Any] | None = None
) -> tuple[Host, bool]:
    """Return the machine, and whether it was created.

    Raises ConflictError if a stored machine differs.
    """
    stated = {"title": title, "facts": facts or {}}
    host, created = Host.objects.get_or_create(lab=lab, slug=slug, defaults=stated)
    differing = [name for name, value in stated.items() if getattr(host, name) != value]
    if differing:
        raise already_exists_error(
            "host_exists",
            Sentence("host"),
            slug,
            differing,
            Sentence("A changed machine is a different host. Choose another slug."),
        )
    return host, created


@transaction.atomic
def update_host(*, host: Host, **changes: Any) -> Host:
    changed = [name for name, value in changes.items() if getattr(host, name) != value]
    for name in changed:
        setattr(host, name, changes[name])
    host.save(update_fields=changed)
    if "facts" in changed:
        measured = Study.objects.filter(cells__system__host=host)
        enqueue_checks(measured.values_list("pk", flat=True))
    return host


@transaction.atomic
def register_system(*, lab: Lab, description: dict[str, Any]) -> tuple[System, bool]:
    hosts = hosts_by_slug(lab, [description["host"]])
    described = describe_system(lab, hosts, description)
    # Looked up first: once stored, new and old rows look the same.
    existed = System.objects.filter(lab=lab, fingerprint=described.fingerprint).exists()
    system = store_systems(lab, [described])[described.fingerprint]
    return system, not existed


def hosts_by_slug(lab: Lab, slugs: Iterable[str]) -> dict[str, Host]:
    return {host.slug: host for host in Host.objects.filter(lab=lab, slug__in=slugs)}


def describe_system(
    lab: Lab, hosts: dict[str, Host], description: dict[str, Any]
) -> System:
    """Return an unsaved system with canonical names and fingerprint.

    Raises UnknownNameError if its machine is not in ``hosts``.
    """
    host = hosts.get(description["host"])
    if host is None:
        raise UnknownNameError("host", description["host"], sorted(hosts))
    stated = SystemDescription(**description)
    platform = canonical_platform(
        stated.hypervisor, stated.hypervisor_version, stated.virtualization
    )
    return System(
        lab=lab,
        host=host,
        hypervisor=platform.hypervisor,
        hypervisor_version=platform.version,
        virtualization=platform.virtualization,
        guest_os=normalize_whitespace(stated.guest_os),
        guest_bits=stated.guest_bits,
        vcpus=stated.vcpus,
        memory_bytes=stated.memory_bytes,
        options=display_parameters(stated.options),
        fingerprint=system_fingerprint(stated),
        is_emulated=is_emulation(*platform, stated.options),
    )


def store_systems(lab: Lab, systems: Iterable[System]) -> dict[str, System]:
    by_fingerprint = {system.fingerprint: system for system in systems}
    rows = System.objects.filter(
        lab=lab, fingerprint__in=by_fingerprint
    ).select_related("host")
    stored = {system.fingerprint: system for system in rows}
    if new := [
        by_fingerprint[key] for key in sorted(by_fingerprint.keys() - stored.keys())
    ]:
        # Another upload may store the same systems, so read the rows afterwards.
        System.objects.bulk_create(new, ignore_conflicts=True)
        stored = {system.fingerprint: system for system in rows.all()}
    return stored
