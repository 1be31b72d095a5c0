"""What people say of sessions: which runs were one sitting. Kept for good."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef

from benchmarks.analysis.sessions import is_named
from benchmarks.errors import InvalidError, shorten
from benchmarks.models import AuditEntry, Run, Session, Study
from benchmarks.sentences import Sentence
from benchmarks.studies.sessions import Origin, derive_study_sessions, look_again
from benchmarks.text import clean_text
from benchmarks.unattended.queue import put_checks

MOST_LETTERS = 200
IDS_TOLD = 20

Wanted = dict[int, int | None]
"""Runs, each with the session it is in so far."""


@transaction.atomic
def correct_sessions(
    *,
    study: Study,
    name: str,
    who: str,
    runs: Collection[int] = (),
    sessions: Collection[int] = (),
    note: str = "",
    person: User | None = None,
) -> Session | None:
    """Put runs, and all runs of sessions, into the session called ``name``.

    A session given whole is renamed. Without a name the runs return to their uploaded
    or derived session. Raises InvalidError.
    """
    # As its check does: the two wait for each other.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    name, note = _clean(name, Sentence("name")), _clean(note, Sentence("note"))
    wanted = _wanted(study, runs, sessions)
    losing = {sitting for sitting in wanted.values() if sitting}
    target = _target(study, name, wanted) if name else None
    if target is not None:
        _say_corrected(target, who, note)
        losing.discard(target.pk)
        # What is left of these is not derived any more: somebody looked who is in it.
        left = study.sessions.filter(pk__in=losing, origin=Origin.DERIVED)
        left.update(origin=Origin.CORRECTED)
        _move(wanted, target.pk)
    else:
        _give_back(wanted)
    derive_study_sessions(study)
    # Sessions that are empty now go, unless somebody uploaded their name.
    own = Run.objects.filter(session=OuterRef("pk"))
    held = Run.objects.filter(sitting=OuterRef("pk"))
    study.sessions.filter(~Exists(own), ~Exists(held), pk__in=losing).delete()
    put_checks([study.pk])
    ids = ", ".join(map(str, sorted(wanted)[:IDS_TOLD]))
    more = ", ..." if len(wanted) > IDS_TOLD else ""
    about = f"{study.slug}, {name or '-'}: {ids}{more}" + (f" ({note})" if note else "")
    kind = AuditEntry.Kind.CORRECTED_SESSION
    AuditEntry.log(study.lab, kind, about, person=person, agent=who)
    return target


def _move(wanted: Wanted, session_id: int | None) -> None:
    moved = [run for run, sitting in wanted.items() if sitting != session_id]
    Run.objects.filter(pk__in=moved).update(sitting=session_id)
    look_again(moved)


def _give_back(wanted: Wanted) -> None:
    """Let runs be where they were uploaded to, or for want of that be derived."""
    uploaded = Run.objects.filter(pk__in=wanted).exclude(session=None)
    by_session: dict[int | None, Wanted] = {}
    named = {
        run: session
        for run, session, name in uploaded.values_list(
            "pk", "session_id", "session__name"
        )
        if is_named(name)
    }
    for run, sitting in wanted.items():
        by_session.setdefault(named.get(run), {})[run] = sitting
    for session_id, runs in by_session.items():
        _move(runs, session_id)


def _clean(text: str, what: str) -> str:
    text = text.strip()
    if len(text) > MOST_LETTERS:
        raise InvalidError(
            "session",
            "The {what} has {n} letters; take at most {most}.",
            what=what,
            n=len(text),
            most=MOST_LETTERS,
        )
    try:
        return clean_text(text, what=what)
    except InvalidError as error:
        raise InvalidError("session", error.sentence) from None


def _wanted(study: Study, runs: Collection[int], sessions: Collection[int]) -> Wanted:
    """Return the runs that are meant, each with the session it is in."""
    own = Run.objects.filter(study=study).order_by("pk")
    wanted: Wanted = dict(own.filter(pk__in=runs).values_list("pk", "sitting_id"))
    if missing := sorted(set(runs) - wanted.keys()):
        raise InvalidError(
            "session",
            "The study {study} has no run {run}. Nothing was changed.",
            study=study.slug,
            run=missing[0],
        )
    known = set(study.sessions.filter(pk__in=sessions).values_list("pk", flat=True))
    if missing := sorted(set(sessions) - known):
        raise InvalidError(
            "session",
            "The study {study} has no session {session}. Nothing was changed.",
            study=study.slug,
            session=missing[0],
        )
    wanted |= dict(own.filter(sitting__in=known).values_list("pk", "sitting_id"))
    if not wanted:
        raise InvalidError(
            "session", "Name the runs, or a session that holds some: none are named."
        )
    return wanted


def _target(study: Study, name: str, wanted: Wanted) -> Session:
    """Return the session of that name; one that is meant as a whole is renamed."""
    session = study.sessions.filter(name=name).first()
    if session is not None:
        return session
    if not is_named(name):
        raise InvalidError(
            "session",
            'Agents call their own starts "{name}": choose another name.',
            name=shorten(name),
        )
    only = set(wanted.values())
    if len(only) == 1 and (pk := only.pop()):
        whole = study.sessions.get(pk=pk)
        is_uploaded = Run.objects.filter(session=whole).exists()
        held = whole.sitting_runs.count()
        if held == len(wanted) and not is_uploaded:
            whole.name = name
            whole.save(update_fields=["name"])
            return whole
    return Session.objects.create(lab_id=study.lab_id, study=study, name=name)


def _say_corrected(session: Session, who: str, note: str) -> None:
    """Note who put a session together; one that an uploader named stays that."""
    is_uploaded = is_named(session.name) and session.origin == Origin.NAMED
    if is_uploaded and Run.objects.filter(session=session).exists():
        return
    session.origin, session.host = Origin.CORRECTED, None
    session.reason = (
        Sentence("put together by {who}: {note}", who=who, note=note)
        if note
        else Sentence("put together by {who}", who=who)
    )
    session.save(update_fields=["origin", "host", "reason"])
