"""The short way in: one statement looks up all that an upload names, another stores it.

Only for an upload that brings samples and names nothing new: whatever else it is, and
whatever is wrong with it, is `intake`'s. Nothing of a token is remembered, so that a
revoked one is refused at once; what is remembered of cases and of own tools is proved
by the same statement.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson
from django.db import IntegrityError, connection, transaction
from django.db.backends.signals import connection_created

from benchmarks import sight, tools
from benchmarks.errors import BenchmarksError, TooFastError
from benchmarks.fingerprints import SystemDescription, system_fingerprint
from benchmarks.labs import tokens
from benchmarks.labs.quotas import admit_uploads
from benchmarks.models import (
    Case,
    CoRun,
    Host,
    Lab,
    OwnTool,
    OwnToolVersion,
    Run,
    Session,
    Study,
    System,
    Token,
)
from benchmarks.models.lab import in_force
from benchmarks.monitoring.counters import ACCEPTED, REPEATED
from benchmarks.own_tools.lookup import DeclaredTool, declared_tools, named
from benchmarks.platforms import shows_emulation, shows_hypervisor_beneath
from benchmarks.uploads.intake import Submission, Upload, stated_fields
from benchmarks.uploads.results import SampleCase
from benchmarks.uploads.storing import (
    NewRun,
    StoredSamples,
    array,
    rows_of,
    store_uploads,
)
from benchmarks.wake import wake

CASES_REMEMBERED: Final = 50_000
SYSTEMS_REMEMBERED: Final = 1024

TOKEN, LAB, STUDY, HOST, SYSTEM, RUN, SESSION, CORUN, CASE, OWN, VERSION = (
    model._meta.db_table
    for model in (
        *(Token, Lab, Study, Host, System, Run, Session, CoRun, Case),
        *(OwnTool, OwnToolVersion),
    )
)
LOOK_UP = f"""
    SELECT token.id, token.digest, token.can_upload, token.revoked_at,
           token.expires_at, token.last_used_at, token.agent_id, token.lab_id,
           lab.slug, study.id, host.id, system.id, system.is_emulated,
           system.is_above_hypervisor,
           session.id, session.origin, corun.id, known.id, known.digest, known.status,
           (SELECT string_agg(concat_ws('.', own.id, own.xmin, (
                       SELECT max(version.id) FROM {VERSION} AS version
                       WHERE version.tool_id = own.id
                   )), ' ' ORDER BY own.id)
            FROM {OWN} AS own WHERE own.lab_id = token.lab_id),
           (SELECT bit_xor(hashtextextended(fingerprint, 0)) FROM {CASE}
            WHERE id = ANY(%(cases)s::bigint[]))
    FROM {TOKEN} AS token
    JOIN {LAB} AS lab ON lab.id = token.lab_id
    LEFT JOIN {STUDY} AS study
      ON study.lab_id = token.lab_id AND study.slug = %(study)s
     AND study.deleted_at IS NULL AND study.archived_at IS NULL
    LEFT JOIN {HOST} AS host ON host.lab_id = token.lab_id AND host.slug = %(host)s
    LEFT JOIN {SYSTEM} AS system
      ON system.lab_id = token.lab_id AND system.fingerprint = %(system)s
    LEFT JOIN {SESSION} AS session
      ON session.study_id = study.id AND session.name = %(session)s
    LEFT JOIN {CORUN} AS corun
      ON corun.study_id = study.id AND corun.name = %(corun)s
    LEFT JOIN {RUN} AS known
      ON known.lab_id = token.lab_id AND known.agent_id = token.agent_id
     AND known.key = %(key)s::uuid AND known.part = 1
    WHERE token.prefix = %(prefix)s
"""
CASES = f"""
    SELECT fingerprint, id, hashtextextended(fingerprint, 0) FROM {CASE}
    WHERE fingerprint = ANY(%(fingerprints)s::text[])
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What the look-up answers, in its order."""

    token_id: int
    token_digest: str
    can_upload: bool
    revoked_at: Any
    expires_at: Any
    last_used_at: Any
    agent_id: int
    lab_id: int
    lab: str
    study_id: int | None
    host_id: int | None
    system_id: int | None
    is_emulated: bool | None
    is_above_hypervisor: bool | None
    session_id: int | None
    session_origin: str | None
    corun_id: int | None
    run_id: int | None
    run_digest: str | None
    run_status: str | None
    own_tools: str | None
    cases: int | None


# Cases of our own tools stay as they are once stored: their ids, with what the look-up
# hashes of them. A lab's own tools, with what the look-up says of these.
_case_ids: dict[str, tuple[int, int]] = {}
_own_tools: dict[int, tuple[str, tuple[DeclaredTool, ...]]] = {}


def forget(**_signal: Any) -> None:
    """Forget all: a new connection may lead to a database that was set back."""
    _case_ids.clear()
    _own_tools.clear()


connection_created.connect(forget, dispatch_uid="the short way in remembers ids")


@sight.everything()  # each of its statements names the token's lab
def submit_directly(shown_token: str, upload: Upload) -> Submission | None:
    """Store a run that names what is there, or return None: nothing was stored then.

    The document has the shape of an upload with samples of a tool.
    """
    document, system = upload.document, upload.document["system"]
    brand, _, rest = shown_token.partition("_")
    prefix, _, secret = rest.partition("_")
    if brand != "vl" or not (prefix.isascii() and prefix.isalnum()):
        return None
    try:
        tool = tools.get(document["tool"])
        read = upload.samples_of(tool)
        fingerprint = _system_fingerprint(orjson.dumps(system))
    except BenchmarksError:
        return None
    samples, derived = read.with_derived(tool)
    cases = _ids_of(samples.cases)
    if cases is None:
        return None
    row = rows_of(
        LOOK_UP,
        {
            "prefix": prefix,
            "study": document["study"],
            "host": system["host"],
            "system": fingerprint,
            "session": document.get("session", ""),
            "corun": document.get("corun", ""),
            "key": str(upload.key),
            "cases": array([pk for pk, _ in cases.values()]),
        },
    )
    if not row:
        return None
    found = Found(*row[0])
    if not (_may_upload(found, secret) and _is_all_there(found, document, cases)):
        return None
    tokens.note_use(found.token_id, found.last_used_at)
    if found.run_id is not None:
        if found.run_digest != upload.digest:
            return None
        REPEATED.inc(1)
        return Submission(found.run_id, upload.key, str(found.run_status), True)
    assert found.study_id is not None
    assert found.system_id is not None
    run = NewRun(
        key=upload.key,
        digest=upload.digest,
        text=upload.text,
        study_id=found.study_id,
        system_id=found.system_id,
        session_id=found.session_id,
        corun_id=found.corun_id,
        fields=stated_fields(document, tool),
        samples=StoredSamples(
            [cases[case.fingerprint][0] for case in samples.cases],
            samples.repetitions,
            samples.values,
        ),
        derived_count=derived,
    )
    try:
        admit_uploads(found.lab_id, runs=1, size=len(upload.text))
    except TooFastError:
        return None  # the other way says so
    try:
        # One statement is a transaction by itself, unless one is open.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            stored = store_uploads(
                lab_id=found.lab_id, agent_id=found.agent_id, runs=[run]
            )
    except IntegrityError:
        return None  # somebody stored, or took away, the same at this moment
    # It is stored: no hint and no counter that fails makes a failure of it.
    transaction.on_commit(wake, robust=True)
    transaction.on_commit(ACCEPTED.inc, robust=True)
    return Submission(stored[run.key], upload.key, Run.Status.RECEIVED, False)


def _may_upload(found: Found, secret: str) -> bool:
    fits = tokens.fits(secret, found.token_digest)
    is_valid = in_force(found.revoked_at, found.expires_at)
    return fits and is_valid and found.can_upload


def _is_all_there(
    found: Found, document: Mapping[str, Any], cases: Mapping[str, tuple[int, int]]
) -> bool:
    """Return whether an upload names nothing that is to be made, changed or refused."""
    if found.study_id is None or found.host_id is None or found.system_id is None:
        return False
    if document.get("session") and (
        # A check may be about to rename a derived one.
        found.session_id is None or found.session_origin == Session.Origin.DERIVED
    ):
        return False
    if document.get("corun") and found.corun_id is None:
        return False
    facts = document.get("facts", {})
    if shows_emulation(facts) and not found.is_emulated:
        return False
    if shows_hypervisor_beneath(facts) and not found.is_above_hypervisor:
        return False
    if found.own_tools and _is_own(document["tool"], found):
        return False
    expected = 0
    for _, mark in cases.values():
        expected ^= mark
    if found.cases != expected:
        forget()
        return False
    return True


def _is_own(name: str, found: Found) -> bool:
    """Return whether the lab calls a tool of its own so."""
    assert found.own_tools is not None
    proof, own = _own_tools.get(found.lab_id, ("", ()))
    if proof != found.own_tools:
        own = tuple(declared_tools(found.lab).values())
        _own_tools[found.lab_id] = found.own_tools, own
    return named(own, name) is not None


def _ids_of(cases: Sequence[SampleCase]) -> dict[str, tuple[int, int]] | None:
    """Return the ids of cases by fingerprint; None if one is not stored yet."""
    wanted = {case.fingerprint for case in cases}
    if missing := [key for key in wanted if key not in _case_ids]:
        if len(_case_ids) > CASES_REMEMBERED:
            _case_ids.clear()
        for key, pk, mark in rows_of(CASES, {"fingerprints": missing}):
            _case_ids[key] = pk, mark
    ids = {key: _case_ids.get(key) for key in wanted}
    known = {key: found for key, found in ids.items() if found is not None}
    return known if len(known) == len(wanted) else None


@lru_cache(SYSTEMS_REMEMBERED)
def _system_fingerprint(described: bytes) -> str:
    return system_fingerprint(SystemDescription(**orjson.loads(described)))
