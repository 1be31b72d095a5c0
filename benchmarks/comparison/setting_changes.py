"""Options in which a system differs from the system it is compared with. PURE."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from benchmarks.system_options import LABELS, SystemOption, find_option

NOT_STATED: Final = ""


class OptionChange(NamedTuple):
    """One option with its values in the reference system and in the system itself."""

    option: SystemOption
    before: str
    after: str

    @property
    def is_effective(self) -> bool:
        is_unused = {self.before, self.after} <= {*self.option.off_values, NOT_STATED}
        is_same = self.before == self.after
        has_both = NOT_STATED not in (self.before, self.after)
        return not is_same and (has_both or not is_unused)


@dataclass(frozen=True, slots=True)
class ConfiguredSystem:
    """A system as its options, and ``rest``: everything else that must be equal."""

    id: int
    options: Mapping[str, str]
    rest: Hashable


def option_changes(
    reference: Mapping[str, str], system: Mapping[str, str]
) -> tuple[OptionChange, ...]:
    """Return the options with different values, without labels of configurations.

    An option that is off equals one that is not stated.
    """
    before, after = _by_option(reference), _by_option(system)
    changes = (
        OptionChange(find_option(name), before.get(name, ""), after.get(name, ""))
        for name in sorted({*before, *after})
    )
    return tuple(change for change in changes if change.is_effective)


def reference_pairs(systems: Sequence[ConfiguredSystem]) -> dict[int, tuple[int, ...]]:
    """Return each system's reference systems, which differ from it in one option.

    The reference is the system in which the option is off, else not stated, else the
    first. If several systems state the option, those that do not are left out.
    """
    pairs: dict[int, set[int]] = defaultdict(set)
    families: dict[tuple[Hashable, str, Hashable], dict[str, int]] = defaultdict(dict)
    for system in sorted(systems, key=lambda system: system.id):
        options = _by_option(system.options)
        names = {name for other in systems for name in _by_option(other.options)}
        for name in names:
            others = frozenset(options.items() - {(name, options.get(name))})
            family = families[system.rest, name, others]
            family.setdefault(options.get(name, NOT_STATED), system.id)
    for (_rest, name, _others), by_level in families.items():
        levels = _compared_levels(by_level)
        if len(levels) > 1:
            first = min(levels, key=lambda level: _rank(find_option(name), level))
            for level in levels:
                if level != first:
                    pairs[by_level[level]].add(by_level[first])
    return {system: tuple(sorted(ids)) for system, ids in pairs.items()}


def _compared_levels(by_level: Mapping[str, int]) -> list[str]:
    stated = [level for level in by_level if level != NOT_STATED]
    return stated if len(stated) > 1 else list(by_level)


def _rank(option: SystemOption, level: str) -> tuple[bool, bool, str]:
    return (level not in option.off_values, level != NOT_STATED, level)


def _by_option(options: Mapping[str, str]) -> dict[str, str]:
    return {
        find_option(name).name: str(value)
        for name, value in options.items()
        if name not in LABELS
    }
