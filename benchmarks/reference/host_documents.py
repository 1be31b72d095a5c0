"""Machines of the reference studies as documents for the REST API. PURE.

A *specimen* is one physical machine of several of one model. Each specimen is a host,
so that two specimens never count as one machine. Its facts name the machine model.
"""

from __future__ import annotations

import re
from typing import Any, Final

from benchmarks.reference.data_files import ReferenceRow, machine_description

HOST_TITLES: Final = {
    "ufcg-power9-ac922": "UFCG: IBM POWER9 AC922",
    "oulu-core2-q6600": "Oulu: Intel Core 2 Quad Q6600",
    "ibm-xeon-2x8": "IBM Research: 2 sockets x 8 cores",
    "framework-16-7840hs": "Framework 16: AMD Ryzen 7 7840HS",
    "poliquin-i7-12700k": "Poliquin: Intel Core i7-12700K",
    "friedman-4cpu": "Friedman: 4 CPUs",
    "lmu-athlon64-x2-4800": "LMU Munich: AMD Athlon 64 X2 4800+",
    "heidelberg-xeon-2ghz": "Heidelberg: 2 x Intel Xeon 2 GHz",
    "uoc-4core-4gib": "UOC: 4 cores, 4 GiB",
    "inqbus-server-a": "inqbus server A (3ware RAID 5)",
    "inqbus-server-b": "inqbus server B (Dell RAID 1)",
    "inqbus-server": "inqbus server",
    "inqbus-lan": "inqbus: two machines in a LAN",
    "inqbus-wan": "inqbus: two data centres",
}
"""Titles of machines whose description has none."""
# Descriptions of a machine model that are not facts of one specimen.
_OF_THE_MODEL: Final = ("title", "specimens", "memory_of_natives")


def host_slug(row: ReferenceRow) -> str:
    """Return the slug of the machine, or of the specimen of a machine model."""
    if not (specimen := row.parameters.get("specimen")):
        return row.machine
    return f"{row.machine}-{re.sub(r'[^a-z0-9]+', '-', specimen.lower())}"


def host_document(study: str, row: ReferenceRow) -> dict[str, Any]:
    description = machine_description(study, row.machine)
    facts = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in description.items()
        if name not in _OF_THE_MODEL
    }
    title = description.get("title") or HOST_TITLES.get(row.machine, "")
    if specimen := row.parameters.get("specimen"):
        facts |= {
            "machine_model": row.machine,
            "specimen": specimen,
            "product_family": product_family(specimen),
        }
        if modules := description.get("memory_of_natives", {}).get(specimen):
            facts["memory_modules"] = modules
        title = f"{facts['provider']} {specimen}: {facts['cpu']}"
    return {"slug": host_slug(row), "title": title, "facts": facts}


def product_family(specimen: str) -> str:
    """Return the family of an instance type: "c5" of "c5.metal" and "c5.24xlarge"."""
    family, dot, _ = specimen.partition(".")
    return family if dot else specimen.removesuffix("-metal")
