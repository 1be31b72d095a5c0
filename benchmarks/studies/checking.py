"""Check changed studies: sessions of runs, shapes of cells, plausibility flags.

A check runs a moment after the last upload, not with every run. Repeating is safe.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from benchmarks.evidence.effects import store_effects
from benchmarks.models import Cell, Flag, Job, Run, RunMean, RunWindow, Study
from benchmarks.plausibility.facts import Id, StudyFacts
from benchmarks.plausibility.findings import Finding
from benchmarks.plausibility.rules import RULES, check
from benchmarks.plausibility.rules.uploads import pairs_of
from benchmarks.studies.facts import PLACE, study_facts
from benchmarks.studies.sessions import derive_study_sessions
from benchmarks.studies.shaping import shape_cells
from benchmarks.together.events import note_news
from benchmarks.unattended import queue
from benchmarks.unattended.queue import BESIDE, Jobs, Kind, put_checks, put_energies
from benchmarks.uploads.efficiencies import cells_misjudged, normalise
from benchmarks.uploads.summaries import lock_cases, summarise_cells, touched_cells

QUIET = timedelta(seconds=0.5)
LATELY = timedelta(seconds=5)
LONGEST_WAIT = timedelta(seconds=30)
# What a flag says of what was found, whatever becomes of it.
SAID = ("severity", "sentence", "evidence", "subjects")
UPLOADED_TWICE = RULES["uploaded-twice"]


def check_due_studies(quiet: timedelta = QUIET) -> int:
    """Check studies that have been quiet for a moment; return how many.

    A study with waiting uploads is checked every half minute, as is an unchanged study
    of a lab with waiting uploads.
    """
    now = timezone.now()
    waiting = Job.objects.filter(
        kind=Kind.UPLOAD, quarantined_at=None, due_at__lte=now + quiet
    )
    still_coming = set(waiting.values_list("study", flat=True).distinct())
    checks = Job.objects.filter(kind=Kind.CHECK)
    unchanged = checks.filter(lab__in=waiting.values("lab"), detail=BESIDE)
    still_coming |= set(unchanged.values_list("study", flat=True)) - set(
        checks.exclude(detail=BESIDE).values_list("study", flat=True)
    )
    checked = 0
    for unit in queue.units(Kind.CHECK):
        is_quiet = unit.last <= now - quiet and unit.subject_id not in still_coming
        if is_quiet or unit.first <= now - LONGEST_WAIT:
            checked += queue.run(Kind.CHECK, unit.subject_id)
    return checked


def is_soon_due() -> bool:
    lately = timezone.now() - LATELY
    return Job.objects.filter(kind=Kind.CHECK, created_at__gt=lately).exists()


@queue.job(Kind.CHECK)
def _check(jobs: Jobs) -> None:
    with transaction.atomic():
        # Locked against other checks only: storing a run refers to the study.
        studies = Study.objects.select_for_update(no_key=True)
        study = studies.get(pk=jobs[0].subject_id)
        if all(job.detail == BESIDE for job in jobs):
            check_beside(study)
        else:
            check_study(study)
        queue.retry_plans_of([study.pk])
        note_news(study)
        queue.finish(jobs)
        if not cells_misjudged(study):
            return
        # If killed before the next transaction ends, the study is checked again.
        last = max(job.created_at for job in jobs)
        [again] = put_checks([study.pk], created_at=last)
    with transaction.atomic():
        # As whoever processes runs does, and before a cell is in hand.
        cells = cells_misjudged(study)
        lock_cases({(cell.lab_id, cell.case_id) for cell in cells})
        normalise(cells)
        again.delete()


@transaction.atomic
def check_study(study: Study) -> None:
    """Update the sessions, shapes and flags of a study; count repeated uploads once."""
    # First of all, for it takes cells in the order in which uploads take them.
    facts = study_facts(study)
    if count_once(study, facts):
        facts = study_facts(study)  # the cells are others now
    # Before a cell is written, for it takes long: who processes runs waits for cells.
    findings = {finding.fingerprint: finding for finding in check(facts)}
    # Then: cells whose runs count in another session now are looked at again.
    derive_study_sessions(study)
    shape_cells(study)
    _store_findings(study, findings, study.flags.all(), facts.leant_on)
    store_effects(study)


@transaction.atomic
def check_beside(study: Study) -> None:
    """Update flags that depend on other studies, whose cells changed; read no runs."""
    facts = study_facts(study, with_runs=False)
    rules = [rule for rule in RULES.values() if rule.looks_beside]
    findings = {finding.fingerprint: finding for finding in check(facts, rules)}
    looked_at = study.flags.filter(rule__in=[rule.id for rule in rules])
    rows = looked_at.filter(gone_at=None).values_list("fingerprint", *SAID)
    standing = {fingerprint: tuple(said) for fingerprint, *said in rows}
    found = {key: _found(finding) for key, finding in findings.items()}
    if facts.leant_on or standing != found:
        _store_findings(study, findings, looked_at, facts.leant_on)
        store_effects(study)


def _found(finding: Finding) -> tuple[object, ...]:
    """Return what is stored of a finding: `SAID`."""
    subjects = [{"kind": it.kind, "id": it.id} for it in finding.subjects]
    return (finding.severity, finding.sentence, dict(finding.evidence), subjects)


def _store_findings(
    study: Study,
    findings: Mapping[str, Finding],
    looked_at: QuerySet[Flag],
    leant_on: Collection[Id],
) -> None:
    """Replace the flags that were ``looked_at`` by these findings; others stay."""
    # Flags that are no longer found go; a person's decision is kept all the same.
    gone = looked_at.exclude(fingerprint__in=findings)
    gone.filter(status=Flag.Status.OPEN).delete()
    gone.filter(gone_at=None).update(gone_at=timezone.now())
    Flag.objects.bulk_create(
        [
            Flag(
                lab_id=study.lab_id,
                study=study,
                rule=finding.rule,
                fingerprint=finding.fingerprint,
                **dict(zip(SAID, _found(finding), strict=True)),
            )
            for finding in findings.values()
        ],
        update_conflicts=True,
        unique_fields=["study", "fingerprint"],
        # Not the status: a doubt that comes back keeps what was decided about it.
        update_fields=[*SAID, "gone_at"],
    )
    others = set(study.flags.values_list("pk", flat=True))
    others -= set(looked_at.values_list("pk", flat=True))
    _link(study, findings, others, leant_on)


def _link(
    study: Study,
    findings: Mapping[str, Finding],
    others: Collection[int],
    leant_on: Collection[Id],
) -> None:
    """Link flags to their cells, or all cells of their runs; ``others`` keep theirs."""
    flags = dict(study.flags.values_list("fingerprint", "pk"))
    pairs: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for key, finding in findings.items():
        for subject in finding.subjects:
            if subject.kind in {"cell", "run"}:
                pairs[subject.kind].add((flags[key], int(subject.id)))
    named = {flag for flag, _ in pairs["cell"]}
    whole = {(flag, run) for flag, run in pairs["run"] if flag not in named}
    cells_of_run = _cells_of_runs(study, {run for _, run in whole})
    pairs["cell"] |= {(flag, cell) for flag, run in whole for cell in cells_of_run[run]}
    quotes = {
        (flags[key], int(quoted))
        for key, finding in findings.items()
        for quoted in finding.quotes
    }
    # A flag that is gone says what it said.
    said = Flag.quotes.through._default_manager.filter(flag__study=study)
    standing = study.flags.filter(pk__in=others, gone_at=None)
    kept = set(standing.values_list("pk", flat=True))
    gone = said.exclude(flag__fingerprint__in=findings).exclude(flag__in=kept)
    quotes |= set(gone.values_list("flag_id", "study_id"))
    # Of a flag that stands by itself, only what the study leans on may be another.
    quotes |= {(flag, int(quoted)) for flag in kept for quoted in leant_on}
    for kind, through in (("run", Flag.runs.through), ("cell", Flag.cells.through)):
        links = through._default_manager.filter(flag__in=others)
        pairs[kind] |= set(links.values_list("flag_id", f"{kind}_id"))
    _replace(Flag.quotes.through, "study_id", study, quotes)
    _replace(Flag.runs.through, "run_id", study, pairs["run"])
    _replace(Flag.cells.through, "cell_id", study, pairs["cell"])


def _cells_of_runs(study: Study, run_ids: set[int]) -> Mapping[int, set[int]]:
    cells = study.cells.values_list(*PLACE, "case_id", "pk")
    by_place = {tuple(row[:-1]): row[-1] for row in cells}
    runs = Run.objects.filter(pk__in=run_ids).values_list("pk", *PLACE)
    places = {pk: tuple(place) for pk, *place in runs}
    means = RunMean.objects.filter(lab=study.lab_id, run__in=list(places))
    cells_of_run: dict[int, set[int]] = defaultdict(set)
    for run_id, case_id in means.values_list("run_id", "case_id"):
        if (cell := by_place.get((*places[run_id], case_id))) is not None:
            cells_of_run[run_id].add(cell)
    return cells_of_run


def _replace(
    through: type[Model], column: str, study: Study, wanted: set[tuple[int, int]]
) -> None:
    """Make a study's links these and no others."""
    links = through._default_manager.filter(flag__study=study)
    present = {
        (flag, other): pk
        for pk, flag, other in links.values_list("pk", "flag_id", column)
    }
    # Only what differs: a row that is written again is another version of its study.
    surplus = [pk for pair, pk in present.items() if pair not in wanted]
    through._default_manager.filter(pk__in=surplus).delete()
    through._default_manager.bulk_create(
        through(flag_id=flag, **{column: other})
        for flag, other in sorted(wanted - present.keys())
    )


@transaction.atomic
def count_once(study: Study, facts: StudyFacts) -> bool:
    """Count repeated uploads once, unless dismissed; return whether a cell changed."""
    flags = study.flags.filter(rule=UPLOADED_TWICE.id, status=Flag.Status.DISMISSED)
    dismissed = set(flags.values_list("fingerprint", flat=True))
    wanted: dict[int, int] = {}
    for finding in UPLOADED_TWICE.findings(facts):
        if finding.fingerprint not in dismissed:
            wanted |= {int(again): int(one) for again, one in pairs_of(finding)}
    marked = Run.objects.filter(study=study).exclude(duplicate_of=None)
    present = dict(marked.values_list("pk", "duplicate_of_id"))
    changed = {run for run, _ in wanted.items() ^ present.items()}
    if not changed:
        return False
    # Whoever reads an upload again holds its runs before their cells: so does this.
    involved = changed | {wanted[run] for run in changed if run in wanted}
    locked = Run.objects.select_for_update(no_key=True).filter(pk__in=involved)
    runs = {run.pk: run for run in locked.order_by("pk")}
    # One that is gone is nobody's first; its study is checked again at once.
    for run_id in sorted(changed & runs.keys()):
        first = wanted.get(run_id)
        runs[run_id].duplicate_of_id = first if first in runs else None
    again = [runs[run_id] for run_id in sorted(changed & runs.keys())]
    keys = touched_cells(again)
    lock_cases({(key.lab_id, key.case_id) for key in keys})
    Run.objects.bulk_update(again, ["duplicate_of"], batch_size=500)
    # Power is integrated once more over the windows of these runs.
    windows = RunWindow.objects.filter(run__in=changed, begin_at__isnull=False)
    spans = windows.values_list("host_id", "begin_at", "end_at").order_by().distinct()
    put_energies(spans)
    cells = summarise_cells(keys)
    normalise(cells)
    put_checks(studies_beside(study, {cell.case_id for cell in cells}), is_beside=True)
    return True


def studies_beside(study: Study, cases: Iterable[int] | QuerySet[Any]) -> QuerySet[Any]:
    """Return the ids of the lab's other studies that measured one of these cases."""
    cells = Cell.objects.filter(lab=study.lab_id, case__in=cases).exclude(study=study)
    return cells.order_by().values_list("study_id", flat=True).distinct()
