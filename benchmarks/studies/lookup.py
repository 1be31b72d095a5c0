"""Studies by name, and the pages for which they have data."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import (
    BooleanField,
    Q,
    QuerySet,
    When,
)
from django.db.models import Case as CaseOf
from django.db.models.expressions import RawSQL

from benchmarks.errors import MalformedError, NotFoundError
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import (
    Case,
    Cell,
    Plan,
    Run,
    RunEnergy,
    Study,
    System,
)
from benchmarks.models.run import AGGREGATE_SLOTS, CONCURRENT_SCENARIOS
from benchmarks.sentences import Sentence, join_with_or
from benchmarks.viewer import Viewer


def _listed(names: Iterable[str]) -> str:
    return "{" + ",".join(names) + "}"


CELLS = f"{Cell._meta.db_table} AS cell"
CASES = (
    f"JOIN {Case._meta.db_table} AS benchmark_case ON benchmark_case.id = cell.case_id"
)
SYSTEMS = f"JOIN {System._meta.db_table} AS system ON system.id = cell.system_id"
MEASURED_CELL_SQL = "cell.study_id = of_study AND cell.n > 0"
EMULATED_SQL = f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS} WHERE {MEASURED_CELL_SQL} AND system.is_emulated
)"""


PAGE_CONDITIONS: Final[Mapping[str, str]] = {
    # In SQL, because the ORM lacks lateral joins and JSON keys in subqueries.
    "coruns": f"""EXISTS (
    SELECT 1 FROM {CELLS}
    WHERE {MEASURED_CELL_SQL} AND cell.scenario = ANY('{_listed(CONCURRENT_SCENARIOS)}')
      AND (cell.slot ~ '^[0-9]+$' OR cell.slot = ANY('{_listed(AGGREGATE_SLOTS)}'))
)""",
    "energy": f"""(EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED_CELL_SQL} AND benchmark_case.component = 'power'
) OR EXISTS (
    SELECT 1 FROM {RunEnergy._meta.db_table} AS energy
    JOIN {Run._meta.db_table} AS run ON run.id = energy.run_id
    WHERE run.study_id = of_study
))""",
    # At least three cases that differ only in a parameter with a leading number.
    "sweep": f"""EXISTS (
    SELECT 1
    FROM (SELECT DISTINCT cell.case_id FROM {CELLS}
          WHERE {MEASURED_CELL_SQL}) AS measured
    JOIN {Case._meta.db_table} AS benchmark_case
      ON benchmark_case.id = measured.case_id
    CROSS JOIN LATERAL jsonb_each_text(benchmark_case.parameters) AS parameter
    WHERE parameter.value ~ '^[0-9.]+( ?[A-Za-z/]+)?$'
    GROUP BY benchmark_case.tool, benchmark_case.metric, parameter.key,
             benchmark_case.parameters - parameter.key
    HAVING count(*) >= 3
)""",
    "network": f"""EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED_CELL_SQL} AND benchmark_case.parameters ?& ARRAY['from', 'to']
)""",
    "emulation": EMULATED_SQL,
    # Emulated guests, and others without emulation.
    "emulation_beside": f"""({EMULATED_SQL} AND EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED_CELL_SQL} AND NOT system.is_emulated
    AND system.hypervisor <> '{NATIVE}'
))""",
    "native_above_hypervisor": f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED_CELL_SQL} AND system.is_nested
    AND system.hypervisor = '{NATIVE}'
)""",
    "plans": f"""EXISTS (
    SELECT 1 FROM {Plan._meta.db_table} AS plan
    WHERE plan.study_id = of_study
)""",
    "trend": f"""(
    EXISTS (SELECT 1 FROM {CELLS}
            WHERE {MEASURED_CELL_SQL} AND cell.first_at IS NOT NULL)
    OR EXISTS (
        SELECT 1 FROM {CELLS} {SYSTEMS}
        WHERE {MEASURED_CELL_SQL} AND system.hypervisor_version <> ''
        GROUP BY system.hypervisor
        HAVING count(DISTINCT system.hypervisor_version) > 1
    )
)""",
}
"""SQL conditions for whether a study has data for a page.

`rls_policies` creates functions from them, which are planned once per session: planning
takes longer than execution.
"""


TABLE: Final = re.compile(r"\bbenchmarks_[a-z]+\b")


def page_annotations() -> dict[str, Any]:
    """Return the annotations ``has_coruns``, ``has_energy``, ... of studies."""
    study = f"{Study._meta.db_table}.id"
    return {
        f"has_{name}": RawSQL(
            # The comment lists the function's tables for `data_versions`.
            f"virtlab_has_{name}({study} /* {' '.join(TABLE.findall(question))} */)",
            (),
            output_field=BooleanField(),
        )
        for name, question in PAGE_CONDITIONS.items()
    }


def list_studies(viewer: Viewer) -> QuerySet[Study]:
    studies = Study.objects.visible_to(viewer).select_related("lab")
    return studies.order_by("-published", "-pk")


def find_study(viewer: Viewer, name: str, **annotations: Any) -> Study:
    """Return the study "slug" or "lab/slug", preferring the viewer's labs.

    Raises NotFoundError without a visible study, MalformedError for several.
    """
    lab, _, slug = name.rpartition("/")
    matches = Q(slug=slug) & (Q(lab__slug=lab) if lab else Q())
    # The viewer's own first. Ten studies suffice to see that a name is ambiguous.
    own_first = CaseOf(When(lab__in=viewer.lab_ids, then=0), default=1)
    candidates = list_studies(viewer).filter(matches).annotate(**annotations)
    studies = list(candidates.order_by(own_first, "-published", "-pk")[:10])
    own_studies = [study for study in studies if study.lab_id in viewer.lab_ids]
    if len(own_studies) == 1:
        return own_studies[0]
    if not studies:
        raise NotFoundError(Sentence("study"), name)
    if len(studies) > 1:
        labs = sorted(study.lab.slug for study in studies)
        raise MalformedError(
            "ambiguous_study",
            'Several labs have a study "{slug}". Use {choices}.',
            slug=slug,
            choices=join_with_or([f'"{lab}/{slug}"' for lab in labs]),
        )
    return studies[0]
