"""Corrections of sessions by people, which later checks keep."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef

from benchmarks.analysis.sessions import is_declared_name
from benchmarks.errors import InvalidError, shorten
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import AuditEntry, Run, Session, Study
from benchmarks.sentences import Sentence
from benchmarks.studies.sessions import Origin, derive_study_sessions, queue_reshaping
from benchmarks.text_validation import clean_text

MAX_LENGTH = 200
MAX_LISTED_IDS = 20

SessionByRun = dict[int, int | None]
"""The current session of each selected run."""


@transaction.atomic
def correct_sessions(
    *,
    study: Study,
    name: str,
    actor: str,
    runs: Collection[int] = (),
    sessions: Collection[int] = (),
    note: str = "",
    person: User | None = None,
) -> Session | None:
    """Move runs and whole sessions to the session ``name``.

    A completely selected session is renamed. Without a name, runs return to their
    declared or derived session. Raises InvalidError.
    """
    # The study check takes the same lock.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    name, note = _clean(name, Sentence("name")), _clean(note, Sentence("note"))
    selected = _selected_runs(study, runs, sessions)
    source_sessions = {session_id for session_id in selected.values() if session_id}
    target = _target(study, name, selected) if name else None
    if target is not None:
        _record_correction(target, actor, note)
        source_sessions.discard(target.pk)
        # The runs that remain in these sessions were reviewed, too.
        remaining = study.sessions.filter(pk__in=source_sessions, origin=Origin.DERIVED)
        remaining.update(origin=Origin.CORRECTED)
        _assign(selected, target.pk)
    else:
        _clear_corrections(selected)
    derive_study_sessions(study)
    # Keep sessions that uploads declared.
    declaring_runs = Run.objects.filter(declared_session=OuterRef("pk"))
    session_runs = Run.objects.filter(session=OuterRef("pk"))
    study.sessions.filter(
        ~Exists(declaring_runs), ~Exists(session_runs), pk__in=source_sessions
    ).delete()
    enqueue_checks([study.pk])
    ids = ", ".join(map(str, sorted(selected)[:MAX_LISTED_IDS]))
    ellipsis = ", ..." if len(selected) > MAX_LISTED_IDS else ""
    about = f"{study.slug}, {name or '-'}: {ids}{ellipsis}" + (
        f" ({note})" if note else ""
    )
    kind = AuditEntry.Kind.CORRECTED_SESSION
    AuditEntry.log(study.lab, kind, about, person=person, agent=actor)
    return target


def _assign(session_by_run: SessionByRun, session_id: int | None) -> None:
    moved = [run for run, current in session_by_run.items() if current != session_id]
    Run.objects.filter(pk__in=moved).update(session=session_id)
    queue_reshaping(moved)


def _clear_corrections(session_by_run: SessionByRun) -> None:
    uploaded = Run.objects.filter(pk__in=session_by_run).exclude(declared_session=None)
    by_session: dict[int | None, SessionByRun] = {}
    declared = {
        run: session
        for run, session, name in uploaded.values_list(
            "pk", "declared_session_id", "declared_session__name"
        )
        if is_declared_name(name)
    }
    for run, current in session_by_run.items():
        by_session.setdefault(declared.get(run), {})[run] = current
    for session_id, runs in by_session.items():
        _assign(runs, session_id)


def _clean(text: str, label: str) -> str:
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise InvalidError(
            "invalid_session",
            "The {what} has {n} characters; the maximum is {most}.",
            what=label,
            n=len(text),
            most=MAX_LENGTH,
        )
    try:
        return clean_text(text, label=label)
    except InvalidError as error:
        raise InvalidError("invalid_session", error.sentence) from None


def _selected_runs(
    study: Study, runs: Collection[int], sessions: Collection[int]
) -> SessionByRun:
    study_runs = Run.objects.filter(study=study).order_by("pk")
    selected: SessionByRun = dict(
        study_runs.filter(pk__in=runs).values_list("pk", "session_id")
    )
    if missing := sorted(set(runs) - selected.keys()):
        raise InvalidError(
            "invalid_session",
            "The study {study} has no run {run}. Nothing was changed.",
            study=study.slug,
            run=missing[0],
        )
    session_ids = set(
        study.sessions.filter(pk__in=sessions).values_list("pk", flat=True)
    )
    if missing := sorted(set(sessions) - session_ids):
        raise InvalidError(
            "invalid_session",
            "The study {study} has no session {session}. Nothing was changed.",
            study=study.slug,
            session=missing[0],
        )
    selected |= dict(
        study_runs.filter(session__in=session_ids).values_list("pk", "session_id")
    )
    if not selected:
        raise InvalidError(
            "invalid_session",
            "No runs are selected. Name the runs, or a session that contains runs.",
        )
    return selected


def _target(study: Study, name: str, session_by_run: SessionByRun) -> Session:
    """Return the session of this name.

    If there is none, rename a session whose runs are all selected, or create one.
    """
    session = study.sessions.filter(name=name).first()
    if session is not None:
        return session
    if not is_declared_name(name):
        raise InvalidError(
            "invalid_session",
            '"{name}" is reserved for sessions that agents start. Choose another name.',
            name=shorten(name),
        )
    session_ids = set(session_by_run.values())
    if len(session_ids) == 1 and (pk := session_ids.pop()):
        renamed = study.sessions.get(pk=pk)
        is_uploaded = Run.objects.filter(declared_session=renamed).exists()
        run_count = renamed.session_runs.count()
        if run_count == len(session_by_run) and not is_uploaded:
            renamed.name = name
            renamed.save(update_fields=["name"])
            return renamed
    return Session.objects.create(lab_id=study.lab_id, study=study, name=name)


def _record_correction(session: Session, actor: str, note: str) -> None:
    """Mark a session as corrected by a person, unless uploads declared it."""
    is_uploaded = is_declared_name(session.name) and session.origin == Origin.NAMED
    if is_uploaded and Run.objects.filter(declared_session=session).exists():
        return
    session.origin, session.host = Origin.CORRECTED, None
    session.reason = (
        Sentence("combined by {who}: {note}", who=actor, note=note)
        if note
        else Sentence("combined by {who}", who=actor)
    )
    session.save(update_fields=["origin", "host", "reason"])
