"""What studies found of questions: read for a viewer, stored for public studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from django.db import connection

from benchmarks import sight
from benchmarks.analysis.pooling import EvidenceStrength
from benchmarks.analysis.verdicts import SURE
from benchmarks.evidence.synthesis import (
    NOTHING,
    Part,
    Pool,
    Synthesis,
    Unit,
    syntheses,
)
from benchmarks.models import Case, Effect, Host, Lab, PublicEvidence, Study, System
from benchmarks.models.study import visible_studies
from benchmarks.viewer import ANYONE, Viewer

MOST_CELLS: Final = 50
"""So many cells of a part are named; all of them count."""

# Who measured: an institution, whichever lab keeps its results here.
LAB: Final = """
    COALESCE(NULLIF(study.institution, ''), NULLIF(study.author, ''), lab.name)
"""
# The questions asked come first: by them the index is looked into, once each.
_EFFECTS: Final = f"{Effect._meta.db_table} AS effect"
_ASKED: Final = f"""
    unnest(%(hypervisors)s::text[], %(works)s::text[]) AS asked (hypervisor, work)
    JOIN {_EFFECTS}
    ON effect.hypervisor = asked.hypervisor AND effect.work = asked.work
"""
_FROM: Final = f"""
    JOIN {Study._meta.db_table} AS study ON study.id = effect.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {Case._meta.db_table} AS benchmark ON benchmark.id = effect.case_id
"""
# As `visible_studies` says it.
SEEN: Final = f"""(
    study.visibility = 'public' OR study.lab_id = ANY(%(labs)s)
    OR study.visibility = 'shared' AND EXISTS (
        SELECT FROM {Study.shared_with.through._meta.db_table} AS share
        WHERE share.study_id = study.id AND share.lab_id = ANY(%(labs)s)
    )
)"""
# Half of the intervals that its study shows, by as many runs as there were; where the
# order of the runs may have moved the mean by more, that.
REACH: Final = f"""
    avg(greatest((effect.log_high - effect.log_low) / 2,
                 {SURE!r} * sqrt(effect.variance)))
"""
_AVERAGES: Final = f"""
    avg(effect.log_ratio), avg(sqrt(effect.variance)), count(*), {REACH}
"""
# A pool takes replicated cells apart from those whose variance nobody knows.
_KNOWN: Final = "effect.variance IS NULL, effect.log_ratio IS NULL"
QUESTIONS: Final = f"""
    SELECT effect.hypervisor, effect.work, effect.host_id, {LAB} AS measured_by,
           benchmark.tool, benchmark.metric, effect.obstacle, {_AVERAGES}
    FROM {_ASKED} {_FROM}
    WHERE {SEEN}
    GROUP BY effect.hypervisor, effect.work, effect.host_id, measured_by,
             benchmark.tool, benchmark.metric, effect.obstacle, {_KNOWN}
"""
# Options by which the path to a disk or a network is told.
PATHS: Final = ("storage", "disk", "bus", "cache", "nic", "network", "guest_tools")
_PATH: Final = "concat_ws(', ', {})".format(
    ", ".join(f"NULLIF(system.options->>'{name}', '')" for name in PATHS)
)
ORIGINS: Final = f"""
    SELECT effect.hypervisor, effect.work, effect.host_id, {LAB} AS measured_by,
           benchmark.tool, benchmark.metric, effect.obstacle, {_AVERAGES},
           effect.virtualization, {_PATH} AS path,
           array_agg(effect.cell_id),
           min(effect.log_ratio), max(effect.log_ratio), host.slug, host.title,
           study.id, lab.slug, study.slug, study.title, study.author,
           study.institution, study.published, study.data_licence
    FROM {{effects}} {_FROM}
    JOIN {System._meta.db_table} AS system ON system.id = effect.system_id
    JOIN {Host._meta.db_table} AS host ON host.id = effect.host_id
    WHERE {SEEN} AND effect.work <> ''
          AND (%(studies)s::bigint[] IS NULL OR study.id = ANY(%(studies)s))
    GROUP BY effect.hypervisor, effect.work, effect.host_id, measured_by,
             benchmark.tool, benchmark.metric, effect.obstacle, study.id, lab.id,
             host.id, effect.virtualization, path, {_KNOWN}
    ORDER BY study.id, benchmark.tool, benchmark.metric
"""


class Question(NamedTuple):
    """What does this hypervisor cost for this class of work (its slug)?"""

    hypervisor: str
    work: str


class StudyRead(NamedTuple):
    pk: int
    lab: str
    slug: str
    title: str
    author: str
    institution: str
    published: str
    data_licence: str

    @property
    def name(self) -> str:
        return f"{self.lab}/{self.slug}"


class HostRead(NamedTuple):
    pk: int
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class Found:
    """A part with where it comes from."""

    part: Part
    study: StudyRead
    host: HostRead
    virtualization: str
    path: str
    cell_ids: tuple[int, ...]
    lowest: float | None
    highest: float | None

    @property
    def decade(self) -> str:
        """The decade in which its study was published: "2010s"; empty if unknown."""
        year = self.study.published[:4]
        return f"{year[:3]}0s" if year.isdigit() else ""


def parts_by_question(
    viewer: Viewer, questions: Collection[Question]
) -> Iterator[tuple[Question, Part]]:
    labs = sorted(viewer.lab_ids)
    named: dict[str, Any] = {"labs": labs, **_columns(questions)}
    with connection.cursor() as cursor:
        cursor.execute(QUESTIONS, named)
        for hypervisor, work, *rest in cursor.fetchall():
            yield Question(hypervisor, work), _part(rest)


def evidence_parts(viewer: Viewer, question: Question) -> list[Found]:
    """Return everything that was measured of a question, in one query."""
    return evidence_origins(viewer, [question]).get(question, [])


def evidence_origins(
    viewer: Viewer,
    questions: Collection[Question] | None = None,
    studies: Collection[int] | None = None,
) -> dict[Question, list[Found]]:
    """Return everything that was measured, question by question, in one query.

    Of all questions unless some are named, and of all studies the viewer may see unless
    their ids are.
    """
    named: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        **_columns(questions or ()),
        "studies": None if studies is None else sorted(studies),
    }
    with connection.cursor() as cursor:
        effects = _EFFECTS if questions is None else _ASKED
        cursor.execute(ORIGINS.format(effects=effects), named)
        rows = cursor.fetchall()
    found: dict[Question, list[Found]] = defaultdict(list)
    for row in rows:
        virtualization, path, cell_ids, lowest, highest = row[11:16]
        found[Question(*row[:2])].append(
            Found(
                part=_part(row[2:11]),
                study=StudyRead(*row[18:]),
                host=HostRead(row[2], *row[16:18]),
                virtualization=virtualization,
                path=path,
                # Sorted here: for it PostgreSQL would sort all rows by all their names.
                cell_ids=tuple(sorted(cell_ids)[:MOST_CELLS]),
                lowest=lowest,
                highest=highest,
            )
        )
    return dict(found)


def _columns(questions: Collection[Question]) -> dict[str, list[str]]:
    once = sorted(set(questions))
    return {
        "hypervisors": [question.hypervisor for question in once],
        "works": [question.work for question in once],
    }


def _part(row: Sequence[Any]) -> Part:
    host, lab, tool, metric, *numbers = row
    return Part(host, lab, (tool, metric), *numbers)


# The columns of `PublicEvidence`, and whether what a flag doubts is in them.
COLUMNS: Final = (("without", False), ("with_flagged", True))


def evidence_matrix(
    viewer: Viewer, *, with_flagged: bool = False
) -> dict[Question, Synthesis]:
    """Return what is known of every question, as summaries.

    Of public studies that is kept. What others say that the viewer's labs see is put
    together with it now.
    """
    column = "with_flagged" if with_flagged else "without"
    rows = PublicEvidence.objects.values_list("hypervisor", "work", column)
    found = {Question(*names): _read(kept) for *names, kept in rows}
    if not viewer.lab_ids:
        return found
    own = Effect.objects.exclude(study__visibility=Study.Visibility.PUBLIC)
    asked = own.filter(visible_studies(viewer, "study__")).exclude(work="")
    questions = {
        Question(*names)
        for names in asked.order_by().values_list("hypervisor", "work").distinct()
    }
    if questions:
        parts = parts_by_question(viewer, questions)
        found |= {
            question: whole.summary
            for question, whole in syntheses(parts, with_flagged=with_flagged).items()
        }
    return found


def questions_of(study: Study) -> set[Question]:
    asked = Effect.objects.filter(study=study).exclude(work="").order_by()
    return {Question(*names) for names in asked.values_list("hypervisor", "work")}


@sight.everything()
def renew_pools(questions: Iterable[Question]) -> None:
    """Pool public studies again, in the transaction of the change.

    So nobody reads a number of a study that was just hidden. The rows of the questions
    are locked: of two checks the later one reads what the earlier one found.
    """
    asked = sorted(set(questions))
    if not asked:
        return
    PublicEvidence.objects.bulk_create(
        [PublicEvidence(**question._asdict()) for question in asked],
        ignore_conflicts=True,
    )
    rows = {
        Question(row.hypervisor, row.work): row
        for row in PublicEvidence.objects.select_for_update()
        .filter(
            hypervisor__in={question.hypervisor for question in asked},
            work__in={question.work for question in asked},
        )
        # In one order, for others may be about to hold the same.
        .order_by("hypervisor", "work")
    }
    # Read once they are held: what others committed until then is in it.
    parts = list(parts_by_question(ANYONE, asked))
    found = {column: syntheses(parts, with_flagged=is_in) for column, is_in in COLUMNS}
    empty, changed = [], []
    for question in asked:
        row = rows[question]
        if question not in found["without"]:
            empty.append(row.pk)
            continue
        for column, _ in COLUMNS:
            setattr(row, column, _kept(found[column][question]))
        changed.append(row)
    PublicEvidence.objects.filter(pk__in=empty).delete()
    names = [column for column, _ in COLUMNS]
    PublicEvidence.objects.bulk_update(changed, names, batch_size=200)


def _kept(whole: Synthesis) -> dict[str, Any]:
    summary = asdict(whole.summary)
    summary["strength"] = int(whole.strength)
    summary["screened"] = dict(whole.screened)
    return summary


def _read(kept: Mapping[str, Any]) -> Synthesis:
    if not kept:
        return NOTHING
    return Synthesis(
        units=_units(kept["units"]),
        hollow=_units(kept["hollow"]),
        pool=_pool(kept["pool"]),
        single=_pool(kept["single"]),
        strength=EvidenceStrength(kept["strength"]),
        screened=kept["screened"],
        labs=kept["labs"],
    )


def _units(kept: Collection[Mapping[str, Any]]) -> tuple[Unit, ...]:
    return tuple(Unit(**unit) for unit in kept)


def _pool(kept: Mapping[str, Any]) -> Pool:
    ends = {
        name: None if kept[name] is None else (kept[name][0], kept[name][1])
        for name in ("interval", "predicted")
    }
    return Pool(**{**kept, **ends, "weights": ()})
