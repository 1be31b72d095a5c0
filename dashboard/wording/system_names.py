"""Systems by what tells them apart: full names of neighbours are mostly the same."""

from collections.abc import Iterable, Mapping

from benchmarks.comparing.columns import Fact
from benchmarks.comparing.ordering import OPTIONS, rank
from benchmarks.models import System
from dashboard import wording

ORDER = ("platform", "guest_os", "guest_bits", *OPTIONS)


def short_names(systems: Iterable[System]) -> Mapping[int, str]:
    """Return each system's name by its id, without what all of them have in common."""
    found = {system.pk: system for system in systems}
    said = {pk: _facts(system) for pk, system in found.items()}
    names = dict.fromkeys(name for facts in said.values() for name in facts)
    varying = [
        name
        for name in sorted(names, key=lambda name: rank(ORDER, name))
        if len({facts.get(name, "") for facts in said.values()}) > 1
    ]
    return {
        pk: ", ".join(facts[name] for name in varying if facts.get(name))
        or wording.system_name(found[pk])
        for pk, facts in said.items()
    }


def _facts(system: System) -> dict[str, str]:
    options = {
        name: wording.fact_in_brief(Fact(name, str(value)))
        for name, value in system.options.items()
    }
    return {
        "platform": system.platform,
        "guest_os": system.guest_os,
        "guest_bits": wording.property_value("guest_bits", system.guest_bits),
        **options,
    }
