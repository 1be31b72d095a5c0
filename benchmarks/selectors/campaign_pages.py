"""Which further pages a campaign has something for, told in the query that finds it."""

from typing import Any

from django.db.models import BooleanField, Count, Exists, OuterRef, Q
from django.db.models.expressions import RawSQL

from benchmarks.models import Campaign, Case, Cell, Plan
from benchmarks.platforms import EMULATED_LAYER, EMULATOR

EMULATED = Q(system__hypervisor=EMULATOR) | Q(
    system__options__layers__icontains=EMULATED_LAYER
)
# At least three cases that differ in the text of one parameter which begins as a
# number. The page itself asks for known units and for lines of two levels.
SWEPT = f"""EXISTS (
    SELECT 1
    FROM (SELECT DISTINCT case_id FROM {Cell._meta.db_table}
          WHERE campaign_id = {Campaign._meta.db_table}.id AND n > 0) AS measured
    JOIN {Case._meta.db_table} AS kase ON kase.id = measured.case_id
    CROSS JOIN LATERAL jsonb_each_text(kase.parameters) AS parameter
    WHERE parameter.value ~ '^[0-9.]+( ?[A-Za-z/]+)?$'
    GROUP BY kase.tool, kase.metric, parameter.key, kase.parameters - parameter.key
    HAVING count(*) >= 3
)"""


def has_pages() -> dict[str, Any]:
    """Return the annotations of a campaign: has_sweep, has_network, has_plans,
    has_history; and has_emulation: a software emulator stands below a system.
    """
    cells = Cell.objects.filter(campaign=OuterRef("pk"), n__gt=0)
    paths = cells.filter(case__parameters__has_keys=["from", "to"])
    dated = cells.filter(first_at__isnull=False)
    versions = (
        cells.exclude(system__hypervisor_version="")
        .values("system__hypervisor")
        .annotate(versions=Count("system__hypervisor_version", distinct=True))
        .filter(versions__gt=1)
        .order_by()
    )
    return {
        "has_sweep": RawSQL(SWEPT, (), output_field=BooleanField()),
        "has_network": Exists(paths),
        "has_emulation": Exists(cells.filter(EMULATED)),
        "has_plans": Exists(Plan.objects.filter(campaign=OuterRef("pk"))),
        "has_history": Exists(dated) | Exists(versions),
    }
