"""Reference systems that a study names instead of a native baseline. PURE."""

from collections.abc import Mapping, Sequence
from typing import Any

System = dict[str, Any]


def named_reference(
    description: Mapping[str, Any], systems: Sequence[System]
) -> System | None:
    """Return the system whose options are exactly those of ``reference``, or None."""
    if not (named := _named_options(description)):
        return None
    return next(system for system in systems if system.get("options") == named)


def other_references(
    description: Mapping[str, Any], systems: Sequence[System]
) -> list[tuple[System, System]]:
    """Return each system with another reference than the study's, and this reference.

    A reference has the same machine and size as its system, if there is such a system.
    ``exceptions`` of ``reference`` name other references by value of an option.
    """
    main = named_reference(description, systems)
    found = []
    for system in systems if main else ():
        candidates = [
            candidate
            for candidate in systems
            if _rest(candidate) == _rest(system)
            and (candidate.get("options", {}).items() >= _wanted(description, system))
        ]
        reference = candidates[0] if candidates else main
        if reference is not None and main not in (reference, system):
            found.append((system, reference))
    return found


def _named_options(description: Mapping[str, Any]) -> dict[str, str]:
    stated = description.get("reference", {})
    return {name: text for name, text in stated.items() if name != "exceptions"}


def _wanted(description: Mapping[str, Any], system: System) -> set[tuple[str, str]]:
    exceptions = description["reference"].get("exceptions", {})
    options = system.get("options", {})
    return {
        (name, exceptions.get(name, {}).get(options.get(name), text))
        for name, text in _named_options(description).items()
    }


def _rest(system: System) -> dict[str, Any]:
    return {name: value for name, value in system.items() if name != "options"}
