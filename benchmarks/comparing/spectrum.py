"""Every pair of the visible studies at its ratio: the overview's first picture."""

from dataclasses import dataclass
from itertools import groupby
from math import exp
from typing import Any

from django.db.models import Count, F, Max, Min, Q, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Floor, Ln

from benchmarks.comparing.ordering import COMPONENTS, rank
from benchmarks.models import Cell, Efficiency, Flag, Study
from benchmarks.platforms import EMULATED_LAYER, EMULATOR
from benchmarks.viewer import Viewer

# Lines closer than one part in this many are drawn as one: their number, and so the
# answer of the database, stays small however many cells there are.
STEPS_PER_E = 50
# A share of CPU time is no speed, however well it can be compared.
NO_SPEED = ("%",)


@dataclass(frozen=True)
class Band:
    """The pairs of one component and hypervisor of a study."""

    study: Study
    component: str
    hypervisor: str
    pairs: int
    lowest: float
    highest: float
    lines: tuple[float, ...]
    """Ratios at which at least one pair lies, ascending."""
    is_lowest_doubted: bool = False
    is_highest_doubted: bool = False
    """Whether a flag withholds the verdict of what lies at that end."""


def spectrum(viewer: Viewer, *, limit: int = 12) -> list[Band]:
    """Return the bands with the most pairs, by component, in two queries."""
    binned = list(_binned(viewer))
    groups = groupby(binned, key=lambda row: tuple(row[name] for name in GROUP))
    studies = Study.objects.select_related("lab").in_bulk(
        {row["study"] for row in binned}
    )
    bands = [_band(studies[key[0]], key, list(rows)) for key, rows in groups]
    most = sorted(bands, key=lambda band: -band.pairs)[:limit]
    return sorted(
        most, key=lambda band: (rank(COMPONENTS, band.component), band.hypervisor)
    )


GROUP = ("study", "case__component", "platform", "version")


def _binned(viewer: Viewer) -> Any:
    pairs = Cell.objects.visible_to(viewer).filter(
        efficiency__state=Efficiency.State.PAIRED,
        efficiency__ratio__gt=0,
        shape_codes="",
        efficiency__baseline__shape_codes="",
        scenario="single",
    )
    # What a processor emulated in software costs is not what a hypervisor costs.
    stated = KeyTextTransform("layers", "system__options")
    pairs = pairs.annotate(
        layers=Coalesce(stated, Value(""), output_field=TextField())
    ).exclude(Q(system__hypervisor=EMULATOR) | Q(layers__icontains=EMULATED_LAYER))
    # Not rounded: PostgreSQL would make decimals of a thousand digits of them first.
    step = Floor(Ln("efficiency__ratio") * STEPS_PER_E + 0.5)
    named = pairs.exclude(case__unit__in=NO_SPEED).annotate(
        platform=F("system__hypervisor"),
        version=F("system__hypervisor_version"),
        step=step,
    )
    doubted = Flag.objects.withholding().values("cells")
    is_doubted = Q(pk__in=doubted) | Q(efficiency__baseline__in=doubted)
    return (
        named.values(*GROUP, "step")
        .annotate(
            pairs=Count("pk"),
            lowest=Min("efficiency__ratio"),
            highest=Max("efficiency__ratio"),
            doubted=Count("pk", filter=is_doubted),
        )
        .order_by(*GROUP, "step")
    )


def _band(study: Study, key: tuple[Any, ...], rows: list[dict[str, Any]]) -> Band:
    return Band(
        study=study,
        component=key[1],
        hypervisor=f"{key[2]} {key[3]}".strip(),
        pairs=sum(row["pairs"] for row in rows),
        lowest=min(row["lowest"] for row in rows),
        highest=max(row["highest"] for row in rows),
        lines=tuple(exp(row["step"] / STEPS_PER_E) for row in rows),
        is_lowest_doubted=rows[0]["doubted"] > 0,
        is_highest_doubted=rows[-1]["doubted"] > 0,
    )
