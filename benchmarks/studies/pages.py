"""Which further pages a study has something for, told in the query that finds it.

In SQL: Django would put these conditions together anew for every page, which takes it
longer than PostgreSQL takes to answer.
"""

from typing import Any

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from benchmarks.comparing.coruns import TOGETHER, TOTALS
from benchmarks.models import Case, Cell, Plan, Run, RunEnergy, Study, System
from benchmarks.platforms import EMULATED_LAYER, EMULATOR

CELLS = f"{Cell._meta.db_table} AS cell"
CASES = (
    f"JOIN {Case._meta.db_table} AS benchmark_case ON benchmark_case.id = cell.case_id"
)
SYSTEMS = f"JOIN {System._meta.db_table} AS system ON system.id = cell.system_id"
MEASURED = f"cell.study_id = {Study._meta.db_table}.id AND cell.n > 0"
TOGETHER_ON_SLOTS = f"""EXISTS (
    SELECT 1 FROM {CELLS} WHERE {MEASURED} AND cell.scenario = ANY(%s)
       AND (cell.slot ~ '^[0-9]+$' OR cell.slot = ANY(%s))
)"""
METERED = f"""EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED} AND benchmark_case.component = 'power'
)"""
LOGGED = f"""EXISTS (
    SELECT 1 FROM {RunEnergy._meta.db_table} AS energy
    JOIN {Run._meta.db_table} AS run ON run.id = energy.run_id
    WHERE run.study_id = {Study._meta.db_table}.id
)"""
PLANNED = f"""EXISTS (
    SELECT 1 FROM {Plan._meta.db_table} AS plan
    WHERE plan.study_id = {Study._meta.db_table}.id
)"""
FROM_AND_TO = f"""EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED} AND benchmark_case.parameters ?& ARRAY['from', 'to']
)"""
EMULATED = f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED}
      AND (system.hypervisor = %s OR system.options ->> 'layers' ILIKE %s)
)"""
# At least three cases that differ in the text of one parameter which begins as a
# number. The page itself asks for known units and for lines of two levels.
SWEPT = f"""EXISTS (
    SELECT 1
    FROM (SELECT DISTINCT cell.case_id FROM {CELLS} WHERE {MEASURED}) AS measured
    JOIN {Case._meta.db_table} AS benchmark_case
      ON benchmark_case.id = measured.case_id
    CROSS JOIN LATERAL jsonb_each_text(benchmark_case.parameters) AS parameter
    WHERE parameter.value ~ '^[0-9.]+( ?[A-Za-z/]+)?$'
    GROUP BY benchmark_case.tool, benchmark_case.metric, parameter.key,
             benchmark_case.parameters - parameter.key
    HAVING count(*) >= 3
)"""
DATED_OR_OF_VERSIONS = f"""(
    EXISTS (SELECT 1 FROM {CELLS} WHERE {MEASURED} AND cell.first_at IS NOT NULL)
    OR EXISTS (
        SELECT 1 FROM {CELLS} {SYSTEMS}
        WHERE {MEASURED} AND system.hypervisor_version <> ''
        GROUP BY system.hypervisor
        HAVING count(DISTINCT system.hypervisor_version) > 1
    )
)"""


def has_pages() -> dict[str, Any]:
    """Return the annotations of a study: has_coruns, has_energy, has_sweep, ...

    has_emulation: a software emulator stands below a system.
    """
    return {
        "has_coruns": _claim(TOGETHER_ON_SLOTS, [*TOGETHER], [*TOTALS]),
        "has_energy": _claim(f"({METERED} OR {LOGGED})"),
        "has_sweep": _claim(SWEPT),
        "has_network": _claim(FROM_AND_TO),
        "has_emulation": _claim(EMULATED, EMULATOR, f"%{EMULATED_LAYER}%"),
        "has_plans": _claim(PLANNED),
        "has_trend": _claim(DATED_OR_OF_VERSIONS),
    }


def _claim(sql: str, *parameters: Any) -> RawSQL:
    return RawSQL(sql, parameters, output_field=BooleanField())
