"""One study by its name, and the pages that it has something for."""

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
from benchmarks.models import (
    Case,
    Cell,
    Plan,
    Run,
    RunEnergy,
    Study,
    System,
)
from benchmarks.models.run import TOGETHER, TOTALS
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence, either
from benchmarks.viewer import Viewer


def _listed(names: Iterable[str]) -> str:
    return "{" + ",".join(names) + "}"


CELLS = f"{Cell._meta.db_table} AS cell"
CASES = (
    f"JOIN {Case._meta.db_table} AS benchmark_case ON benchmark_case.id = cell.case_id"
)
SYSTEMS = f"JOIN {System._meta.db_table} AS system ON system.id = cell.system_id"
MEASURED = "cell.study_id = of_study AND cell.n > 0"
EMULATED = f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS} WHERE {MEASURED} AND system.is_emulated
)"""


PAGES: Final[Mapping[str, str]] = {
    # In SQL all alike: keys of JSON and lateral joins are more than the ORM can say.
    "coruns": f"""EXISTS (
    SELECT 1 FROM {CELLS}
    WHERE {MEASURED} AND cell.scenario = ANY('{_listed(TOGETHER)}')
      AND (cell.slot ~ '^[0-9]+$' OR cell.slot = ANY('{_listed(TOTALS)}'))
)""",
    "energy": f"""(EXISTS (
    SELECT 1 FROM {CELLS} {CASES}
    WHERE {MEASURED} AND benchmark_case.component = 'power'
) OR EXISTS (
    SELECT 1 FROM {RunEnergy._meta.db_table} AS energy
    JOIN {Run._meta.db_table} AS run ON run.id = energy.run_id
    WHERE run.study_id = of_study
))""",
    # At least three cases that differ only in a parameter that begins as a number.
    "sweep": f"""EXISTS (
    SELECT 1
    FROM (SELECT DISTINCT cell.case_id FROM {CELLS} WHERE {MEASURED}) AS measured
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
    WHERE {MEASURED} AND benchmark_case.parameters ?& ARRAY['from', 'to']
)""",
    "emulation": EMULATED,
    # Beside an emulator other guests may have run on the real processor.
    "emulation_beside": f"""({EMULATED} AND EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED} AND NOT system.is_emulated AND system.hypervisor <> '{NATIVE}'
))""",
    "native_above_hypervisor": f"""EXISTS (
    SELECT 1 FROM {CELLS} {SYSTEMS}
    WHERE {MEASURED} AND system.is_above_hypervisor AND system.hypervisor = '{NATIVE}'
)""",
    "plans": f"""EXISTS (
    SELECT 1 FROM {Plan._meta.db_table} AS plan
    WHERE plan.study_id = of_study
)""",
    "trend": f"""(
    EXISTS (SELECT 1 FROM {CELLS} WHERE {MEASURED} AND cell.first_at IS NOT NULL)
    OR EXISTS (
        SELECT 1 FROM {CELLS} {SYSTEMS}
        WHERE {MEASURED} AND system.hypervisor_version <> ''
        GROUP BY system.hypervisor
        HAVING count(DISTINCT system.hypervisor_version) > 1
    )
)""",
}
"""What each of these pages needs in a study. `row_security` makes functions of them,
which are planned once a session: that takes longer than reading."""


TABLE: Final = re.compile(r"\bbenchmarks_[a-z]+\b")


def has_pages() -> dict[str, Any]:
    """Return the annotations of a study: has_coruns, has_energy, has_sweep, ..."""
    study = f"{Study._meta.db_table}.id"
    return {
        f"has_{name}": RawSQL(
            # With the tables that it reads, for whoever notes these (`data_versions`).
            f"virtlab_has_{name}({study} /* {' '.join(TABLE.findall(question))} */)",
            (),
            output_field=BooleanField(),
        )
        for name, question in PAGES.items()
    }


def visible(viewer: Viewer) -> QuerySet[Study]:
    """Return the studies a viewer may see, newest first."""
    studies = Study.objects.visible_to(viewer).select_related("lab")
    return studies.order_by("-published", "-pk")


def find_study(viewer: Viewer, name: str, **annotations: Any) -> Study:
    """Return the study called "slug" or "lab/slug", the viewer's own first.

    Raises NotFoundError if there is none to see, MalformedError if the lab is needed.
    """
    lab, _, slug = name.rpartition("/")
    wanted = Q(slug=slug) & (Q(lab__slug=lab) if lab else Q())
    # Own ones first: a few of the others are enough to say that there are several.
    own_first = CaseOf(When(lab__in=viewer.lab_ids, then=0), default=1)
    named = visible(viewer).filter(wanted).annotate(**annotations)
    studies = list(named.order_by(own_first, "-published", "-pk")[:10])
    own = [study for study in studies if study.lab_id in viewer.lab_ids]
    if len(own) == 1:
        return own[0]
    if not studies:
        raise NotFoundError(Sentence("study"), name)
    if len(studies) > 1:
        labs = sorted(study.lab.slug for study in studies)
        raise MalformedError(
            "ambiguous_study",
            'Several labs have a study "{slug}". Say {choices}.',
            slug=slug,
            choices=either([f'"{lab}/{slug}"' for lab in labs]),
        )
    return studies[0]
