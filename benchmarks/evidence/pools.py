"""What public studies say together, kept: renewed with whatever changes it.

In the transaction of the change, so that nobody reads a number of a study that was
hidden a moment ago. Whoever renews a question holds its row: of two checks the later
one sees what the earlier one found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from benchmarks import sight
from benchmarks.analysis.pooling import EvidenceStrength
from benchmarks.evidence.reading import Question, parts_by_question
from benchmarks.evidence.synthesis import NOTHING, Pool, Synthesis, Unit, syntheses
from benchmarks.models import Effect, PublicEvidence, Study
from benchmarks.models.study import visible_studies
from benchmarks.viewer import ANYONE, Viewer

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
    """Put public studies together anew, in the caller's transaction."""
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
