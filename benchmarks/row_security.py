"""Row-level security: policies for each table, derived from the models.

A row is visible to its lab and with its study, a part with its whole. `prepare` creates
the policies as the owner of the tables; they bind the application's role (`sight`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import dj_database_url
from django.apps import apps
from django.conf import settings
from django.db import connection, models, transaction
from psycopg import sql

from benchmarks import sight
from benchmarks.models import (
    Agent,
    Case,
    Cell,
    Comment,
    Digest,
    EarlierText,
    Event,
    FeedToken,
    Flag,
    Follow,
    Host,
    Invitation,
    Lab,
    Letter,
    Membership,
    Meter,
    OwnTool,
    Picture,
    Plan,
    PlanSlot,
    PublicEvidence,
    Review,
    ReviewedStudy,
    Run,
    RunEnergy,
    SavedView,
    Study,
    System,
    Token,
    Version,
    Webhook,
)
from benchmarks.studies.data_versions import VERSION
from benchmarks.studies.lookup import PAGES

_FIRST = "asked before anybody is known"
_ALL = "says what all may know"
_LINK = "ties two rows together, and says no more than their ids"
OPEN: Final[Mapping[type[models.Model], str]] = {
    Membership: _FIRST,
    Agent: _FIRST,
    Token: _FIRST,
    Invitation: _FIRST,
    FeedToken: _FIRST,
    Letter: _FIRST,
    Digest: "ended by a link in a letter, by whoever has it",
    Lab: _ALL,
    Case: _ALL,
    PublicEvidence: _ALL,
    # Who may not see what a row quotes is told so by these.
    ReviewedStudy: _LINK,
    Flag.cells.through: _LINK,
    Flag.runs.through: _LINK,
    Flag.quotes.through: _LINK,
    Version.quotes.through: _LINK,
    Event.quotes.through: _LINK,
    Picture: "found by a digest of all that it shows",
}
"""The tables without a policy, and why."""

PARENTS: Final = (
    *("run", "cell", "flag", "version", "plan", "step", "review", "tool", "meter"),
    "comment",
)
"""With which row another is seen, where it does not name its study: the first of."""


_LABS = "(SELECT nullif(current_setting('virtlab.labs', true), '')::bigint[])"
_OF_LAB = f"lab_id = ANY ({_LABS}::bigint[])"
_OF_CLEAR_LAB = f"lab_id = ANY ({_LABS.replace('labs', 'clear')}::bigint[])"
"""Nothing of these labs is hidden from whoever asks: no parent needs a look."""


_OF_PERSON = (
    "person_id = (SELECT nullif(current_setting('virtlab.person', true), '')::bigint)"
)


def _marked(column: str, marks: str) -> str:
    """Return SQL for whether an id is marked: its byte is 1. Cheaper than a list."""
    mark = f"substring(({marks}), {column}::integer, 1)"
    return f"coalesce(nullif({mark}, ''), '0') <> '0'"


def _of_study(column: str) -> str:
    return _marked(column, "SELECT current_setting('virtlab.studies', true)::bytea")


def _table(model: type[models.Model]) -> str:
    return f"public.{model._meta.db_table}"


def _quotes_hidden(links: type[models.Model], name: str, of: str) -> str:
    return (
        f"EXISTS (SELECT FROM {_table(links)} AS quoted WHERE quoted.{name} = {of}.id"
        f" AND NOT {_of_study('quoted.study_id')})"
    )


def _marks_of(ids: str) -> str:
    """Return a query for the marks of these ids, each once and in order."""
    return f"""
        SELECT coalesce(string_agg(repeat('0', (id - before - 1)::integer) || '1', ''
                                   ORDER BY id), '0')
        FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY id) AS before
              FROM ({ids}) AS seen) AS seen
    """


# Functions of the owner, whom no policy binds: nested policies plan slowly.
_SEES_TOOL: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_sees_tool(text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER COST 500 SET search_path = pg_catalog
    AS $sees$
        SELECT EXISTS (SELECT FROM {_table(Cell)} AS cell
                       JOIN {_table(Case)} AS kase ON kase.id = cell.case_id
                       WHERE kase.tool = $1 AND {_of_study("cell.study_id")})
            OR EXISTS (SELECT FROM {_table(Run)}
                       WHERE tool = $1 AND {_of_study("study_id")})
    $sees$
"""
_MEASURED = f"""
    SELECT id FROM {_table(System)} AS system
    WHERE lab_id <> ALL (labs) AND (
        EXISTS (SELECT FROM {_table(Cell)} AS cell
                WHERE system_id = system.id AND {_of_study("study_id")})
        -- Nobody could read what was measured there, or nothing was yet.
        OR EXISTS (SELECT FROM {_table(Run)} AS run
                   WHERE system_id = system.id AND {_of_study("study_id")})
        OR EXISTS (SELECT FROM {_table(PlanSlot)} AS slot
                   JOIN {_table(Plan)} AS plan ON plan.id = slot.plan_id
                   WHERE slot.system_id = system.id
                     AND {_of_study("plan.study_id")}))
"""
_OF_SYSTEMS = f"""
    SELECT DISTINCT host_id AS id FROM {_table(System)}
    WHERE {_marked("id", "systems")}
"""
# The machines of other labs in visible studies; computed on first use.
_SYSTEMS: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_systems() RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $systems$
    DECLARE
        marks text := current_setting('virtlab.systems', true);
        labs bigint[] := nullif(current_setting('virtlab.labs', true), '');
    BEGIN
        IF marks = '' THEN
            marks := ({_marks_of(_MEASURED)});
            PERFORM set_config('virtlab.systems', marks, false);
        END IF;
        RETURN marks::bytea;
    END $systems$;
    CREATE OR REPLACE FUNCTION public.virtlab_hosts() RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $hosts$
    DECLARE
        marks text := current_setting('virtlab.hosts', true);
        systems bytea;
    BEGIN
        IF marks = '' THEN
            systems := public.virtlab_systems();
            marks := ({_marks_of(_OF_SYSTEMS)});
            PERFORM set_config('virtlab.hosts', marks, false);
        END IF;
        RETURN marks::bytea;
    END $hosts$
"""
_OWN_RULES: Final[Mapping[type[models.Model], str]] = {
    # Its own lab's, too: a new one is none of those that were seen.
    Study: f"{_OF_LAB} OR {_of_study('id')}",
    System: f"{_OF_LAB} OR {_marked('id', 'SELECT public.virtlab_systems()')}",
    Host: f"{_OF_LAB} OR {_marked('id', 'SELECT public.virtlab_hosts()')}",
    OwnTool: f"{_OF_LAB} OR public.virtlab_sees_tool(name)",
    Meter: f"{_OF_LAB} OR EXISTS (SELECT FROM {_table(RunEnergy)} AS energy"
    " WHERE energy.meter_id = benchmarks_meter.id)",
    Flag: f"{_of_study('study_id')} AND NOT "
    + _quotes_hidden(Flag.quotes.through, "flag_id", "benchmarks_flag"),
    Version: f"{_of_study('study_id')} AND NOT "
    + _quotes_hidden(Version.quotes.through, "version_id", "benchmarks_version"),
    Event: f"{_of_study('study_id')} AND NOT "
    + _quotes_hidden(Event.quotes.through, "event_id", "benchmarks_event"),
    Review: f"NOT {_quotes_hidden(ReviewedStudy, 'review_id', 'benchmarks_review')}",
    # Of another lab's study, perhaps: the address is nothing for whoever sees that.
    Webhook: _OF_LAB,
    SavedView: f"{_OF_LAB} OR {_OF_PERSON}",
    Follow: _OF_PERSON,
}
_OWN_CHECKS: Final = {Comment, EarlierText, SavedView}
"""Written by whoever sees them; other rows by the lab that they are of alone."""
_SEEN = f"""
    SELECT id FROM {_table(Study)} AS study
    WHERE visibility = '{Study.Visibility.PUBLIC.value}' OR lab_id = ANY (labs)
       OR (visibility = '{Study.Visibility.SHARED.value}' AND EXISTS (
           SELECT FROM {_table(Study.shared_with.through)} AS share
           WHERE share.study_id = study.id AND share.lab_id = ANY (labs)))
"""
# The labs of a person and their studies, computed once a request.
_KNOWN_BY: Final = "public.virtlab_see(bigint[], bigint)"
_SEE: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_see(labs bigint[], person bigint)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $see$
    DECLARE studies text;
    BEGIN
        IF person IS NOT NULL THEN
            labs := labs || ARRAY(
                SELECT lab_id FROM {_table(Membership)} WHERE user_id = person
            );
        END IF;
        studies := ({_marks_of(_SEEN)});
        PERFORM set_config('virtlab.labs', labs::text, false),
                set_config('virtlab.person', coalesce(person::text, ''), false),
                set_config('virtlab.studies', studies, false),
                set_config('virtlab.systems', '', false),
                set_config('virtlab.hosts', '', false),
                set_config('virtlab.clear', (labs || ARRAY(
                    SELECT DISTINCT lab_id FROM {_table(Study)}
                    EXCEPT SELECT lab_id FROM {_table(Study)}
                    WHERE NOT {_marked("id", "studies::bytea")}
                ))::text, false);
    END $see$
"""


def secured_models() -> Iterator[type[models.Model]]:
    """Yield the models whose tables have a policy: all but those left open."""
    found = apps.get_app_config("benchmarks").get_models(include_auto_created=True)
    return (model for model in found if model not in OPEN)


def rule_of(model: type[models.Model]) -> str:
    """Return which rows of a table are visible.

    Raises TypeError for a model that names neither lab nor study, nor its parent.
    """
    if own := _OWN_RULES.get(model):
        return own
    columns = {field.column: field for field in model._meta.concrete_fields}
    study: Any = columns.get("study_id")
    if study and not study.null:
        return _of_study("study_id")
    seen = [_OF_LAB] if "lab_id" in columns else []
    if study:
        seen.append(_of_study("study_id"))
        return " OR ".join(seen)
    for name in PARENTS:
        if parent := columns.get(f"{name}_id"):
            # With the policy of that table, which this one's query is under.
            table = model._meta.db_table
            of: Any = parent.related_model
            if seen and of in (Run, Cell):
                seen = [_OF_CLEAR_LAB]
            seen.append(
                f"EXISTS (SELECT FROM {_table(of)} AS whole"
                f" WHERE whole.id = {table}.{name}_id)"
            )
            break
    if not seen:
        raise TypeError(
            f"Nothing says who sees a row of {model.__name__}: give it a lab, a study "
            "or a parent, or leave it open with a reason (benchmarks/row_security.py)."
        )
    return " OR ".join(seen)


def statements(*, with_policies: bool = True) -> str:
    """Return all that lays down the policies, once more or for the first time."""
    version = VERSION % {"study": "of_study", "lab": "of_lab"}
    asked = {"study_version(of_study bigint, of_lab bigint)": ("text", version)} | {
        f"has_{page}(of_study bigint)": ("boolean", question)
        for page, question in PAGES.items()
    }
    # The owner's, for what is known of a study is the same for all who see it.
    functions = [
        f"""
        CREATE OR REPLACE FUNCTION public.virtlab_{call} RETURNS {kind}
        LANGUAGE plpgsql STABLE SECURITY DEFINER
        SET search_path = pg_catalog, public, pg_temp
        AS $body$ BEGIN RETURN ({question}); END $body$
        """
        for call, (kind, question) in asked.items()
    ]
    policies = []
    for model in secured_models() if with_policies else ():
        rule, table = rule_of(model), _table(model)
        columns = {field.column for field in model._meta.concrete_fields}
        is_of_lab = "lab_id" in columns and model not in _OWN_CHECKS
        policies.append(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
            f"DROP POLICY IF EXISTS sight ON {table};"
            f"CREATE POLICY sight ON {table} USING ({rule})"
            f" WITH CHECK ({_OF_LAB if is_of_lab else rule});"
        )
    return ";".join([_SEES_TOOL, _SYSTEMS, *functions, _SEE, *policies])


def is_enforced() -> bool:
    """Return whether row-level security binds the requests of this process's role."""
    with sight.nothing(), connection.cursor() as cursor:
        cursor.execute("SELECT row_security_active('public.benchmarks_run')")
        return bool(cursor.fetchone()[0])


@contextmanager
def as_owner() -> Iterator[None]:
    """Be the owner of the tables, where OWNER_DATABASE_URL names one."""
    if not settings.OWNER_DATABASE_URL:
        yield
        return
    own = connection.settings_dict
    parsed = dj_database_url.parse(settings.OWNER_DATABASE_URL)
    # An address without a question says nothing of options.
    owner: dict[str, Any] = {"OPTIONS": {}, **parsed}
    names = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    connection.close()
    connection.settings_dict = {**own, **{name: owner[name] for name in names}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = own


def secure() -> None:
    """Create the policies (none on Citus), and grant the application's role its rights.

    Existing policies are kept: replacing one waits for all readers of its table.
    """
    wanted = statements(with_policies=not _has_citus())
    digest = sha256(wanted.encode()).hexdigest()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT obj_description(to_regprocedure(%s), 'pg_proc'), (
                SELECT count(*) FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
                WHERE polname = 'sight' AND relrowsecurity)
            """,
            [_KNOWN_BY],
        )
        known, policies = cursor.fetchone()
        has_all = policies == len(list(secured_models())) or _has_citus()
        if known != digest or not has_all:
            cursor.execute(wanted)
            cursor.execute(f"COMMENT ON FUNCTION {_KNOWN_BY} IS '{digest}'")
        role = settings.DATABASES["default"]["USER"]
        cursor.execute("SELECT current_user = %s", [role])
        if not role or cursor.fetchone()[0]:
            return  # they are its own
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [sight.ALL_SEEING])
        roles = [role, sight.ALL_SEEING] if cursor.rowcount else [role]
        for granted in (
            "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public",
            "USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public",
        ):
            grant = sql.SQL("GRANT " + granted + " TO {}")  # type: ignore[arg-type]
            names = sql.SQL(", ").join(map(sql.Identifier, roles))
            cursor.execute(grant.format(names).as_string())


def _has_citus() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_extension WHERE extname = 'citus'")
        return bool(cursor.rowcount)
