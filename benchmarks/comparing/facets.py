"""What a study's comparison can be narrowed to."""

from dataclasses import dataclass

from benchmarks import tools
from benchmarks.comparing.ordering import COMPONENTS, SCENARIOS, natural, rank
from benchmarks.models import Cell, Study, System


@dataclass(frozen=True)
class Facets:
    """The values that occur, each list in the order of a menu."""

    scenarios: tuple[str, ...]
    components: tuple[str, ...]
    tools: tuple[tuple[str, str], ...]
    guest_oses: tuple[str, ...]
    guest_bits: tuple[int, ...]
    systems: tuple[System, ...]


def facets(study: Study) -> Facets:
    """Return what occurs among a study's cells, in two queries."""
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    names = ("scenario", "case__component", "case__tool", "system")
    found = list(cells.values_list(*names).distinct())
    scenarios, components, slugs, ids = ({row[at] for row in found} for at in range(4))
    systems = sorted(
        System.objects.filter(pk__in=ids).select_related("host"), key=_menu_order
    )
    return Facets(
        scenarios=tuple(sorted(scenarios, key=lambda name: rank(SCENARIOS, name))),
        components=tuple(sorted(components, key=lambda name: rank(COMPONENTS, name))),
        tools=tuple((slug, tools.get(slug).title) for slug in sorted(slugs)),
        guest_oses=tuple(sorted({each.guest_os for each in systems} - {""})),
        guest_bits=tuple(
            sorted({each.guest_bits for each in systems if each.guest_bits})
        ),
        systems=tuple(systems),
    )


def _menu_order(system: System) -> tuple[object, ...]:
    return (not system.is_native, natural(system.label), system.pk)
