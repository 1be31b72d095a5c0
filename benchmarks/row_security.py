"""Row-level security: which rows of each table PostgreSQL shows to a sight.

The policies follow from the models, so that a new table has one without anybody's
doing: a row is seen by its lab and by whoever sees its study, and what belongs to a
row of another table is seen with it. `prepare` lays them down as the owner of the
tables, whom they do not bind; the application's role is bound (`sight`).
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
    DueCheck,
    DueEnergy,
    Flag,
    Host,
    Invitation,
    Lab,
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
    Study,
    System,
    Token,
    Version,
)
from benchmarks.studies.data_versions import VERSION

_FIRST = "asked before anybody is known"
_ALL = "says what all may know"
_NOTE = "a note with an id, left for whomever a change concerns"
_LINK = "ties two rows together, and says no more than their ids"
OPEN: Final[Mapping[type[models.Model], str]] = {
    Membership: _FIRST,
    Agent: _FIRST,
    Token: _FIRST,
    Invitation: _FIRST,
    Lab: _ALL,
    Case: _ALL,
    PublicEvidence: _ALL,
    DueCheck: _NOTE,
    DueEnergy: _NOTE,
    # Who may not see what a row quotes is told so by these.
    ReviewedStudy: _LINK,
    Flag.cells.through: _LINK,
    Flag.runs.through: _LINK,
    Flag.quotes.through: _LINK,
    Version.quotes.through: _LINK,
    Picture: "found by a digest of all that it shows",
}
"""The tables without a policy, and why."""

PARENTS: Final = (
    *("run", "cell", "flag", "version", "plan", "step", "review", "tool", "meter"),
)
"""With which row another is seen, where it does not name its study: the first of."""


def _setting(name: str) -> str:
    """Return a list of ids that the session was given; null while it was not.

    A query of its own, so that PostgreSQL reads it once a statement, not once a row.
    """
    read = f"SELECT nullif(current_setting('virtlab.{name}', true), '')::bigint[]"
    return f"({read})::bigint[]"


LABS, STUDIES, SYSTEMS, HOSTS = map(_setting, ("labs", "studies", "systems", "hosts"))
_SEES_ALL = f"{sight.EVERY_LAB} = ANY ({LABS})"


def _table(model: type[models.Model]) -> str:
    return f"public.{model._meta.db_table}"


def _of_study(column: str) -> str:
    return f"{column} = ANY ({STUDIES})"


_OF_LAB = f"lab_id = ANY ({LABS})"


def _quotes_hidden(links: type[models.Model], name: str, of: str) -> str:
    return (
        f"EXISTS (SELECT FROM {_table(links)} AS quoted WHERE quoted.{name} = {of}.id"
        f" AND NOT {_of_study('quoted.study_id')})"
    )


# A function, and the owner's: as a policy within a policy it takes longer to plan than
# most statements take to run. Few rows are of tools of others.
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
_OWN_RULES: Final[Mapping[type[models.Model], str]] = {
    Study: f"{_OF_LAB} OR {_of_study('id')}",
    System: f"{_OF_LAB} OR id = ANY ({SYSTEMS})",
    Host: f"{_OF_LAB} OR id = ANY ({HOSTS})",
    OwnTool: f"{_OF_LAB} OR public.virtlab_sees_tool(name)",
    Meter: f"{_OF_LAB} OR EXISTS (SELECT FROM {_table(RunEnergy)} AS energy"
    " WHERE energy.meter_id = benchmarks_meter.id)",
    Flag: f"({_OF_LAB} OR {_of_study('study_id')}) AND NOT "
    + _quotes_hidden(Flag.quotes.through, "flag_id", "benchmarks_flag"),
    Version: f"({_OF_LAB} OR {_of_study('study_id')}) AND NOT "
    + _quotes_hidden(Version.quotes.through, "version_id", "benchmarks_version"),
    Review: f"NOT {_quotes_hidden(ReviewedStudy, 'review_id', 'benchmarks_review')}",
}
# What a request is shown, worked out in one statement: the labs of a person, the
# studies that these see, and the machines of other labs that these studies tell of.
# Once a request and not in each policy, where it was asked for every row. The owner's
# function, as all these tables have policies themselves.
_KNOWN_BY: Final = "public.virtlab_see(bigint[], bigint)"
_SEE: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_see(labs bigint[], person bigint)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $see$
    DECLARE studies bigint[]; systems bigint[];
    BEGIN
        IF person IS NOT NULL THEN
            labs := labs || ARRAY(
                SELECT lab_id FROM {_table(Membership)} WHERE user_id = person
            );
        END IF;
        studies := ARRAY(
            SELECT id FROM {_table(Study)} AS study
            WHERE visibility = '{Study.Visibility.PUBLIC.value}' OR lab_id = ANY (labs)
               OR (visibility = '{Study.Visibility.SHARED.value}' AND EXISTS (
                   SELECT FROM {_table(Study.shared_with.through)} AS share
                   WHERE share.study_id = study.id AND share.lab_id = ANY (labs)))
        );
        systems := ARRAY(
            SELECT id FROM {_table(System)} AS system
            WHERE lab_id <> ALL (labs) AND (
                EXISTS (SELECT FROM {_table(Cell)} AS cell
                        WHERE system_id = system.id AND study_id = ANY (studies))
                -- Nobody could read what was measured there, or nothing was yet.
                OR EXISTS (SELECT FROM {_table(Run)} AS run
                           WHERE system_id = system.id AND study_id = ANY (studies))
                OR EXISTS (SELECT FROM {_table(PlanSlot)} AS slot
                           JOIN {_table(Plan)} AS plan ON plan.id = slot.plan_id
                           WHERE slot.system_id = system.id
                             AND plan.study_id = ANY (studies)))
        );
        PERFORM set_config('virtlab.labs', labs::text, false),
                set_config('virtlab.studies', studies::text, false),
                set_config('virtlab.systems', systems::text, false),
                set_config('virtlab.hosts', ARRAY(
                    SELECT DISTINCT host_id FROM {_table(System)}
                    WHERE id = ANY (systems)
                )::text, false);
    END $see$
"""


def secured_models() -> Iterator[type[models.Model]]:
    """Yield the models whose tables have a policy: all but those left open."""
    found = apps.get_app_config("benchmarks").get_models(include_auto_created=True)
    return (model for model in found if model not in OPEN)


def rule_of(model: type[models.Model]) -> str:
    """Return which rows of a table are seen, by whom not all is shown to.

    Raises TypeError for one that names neither lab nor study, nor what it is part of.
    """
    if own := _OWN_RULES.get(model):
        return own
    columns = {field.column: field for field in model._meta.concrete_fields}
    seen = [_OF_LAB] if "lab_id" in columns else []
    if "study_id" in columns:
        seen.append(_of_study("study_id"))
    else:
        for name in PARENTS:
            if parent := columns.get(f"{name}_id"):
                # With the policy of that table, which this one's query is under.
                table = model._meta.db_table
                of: Any = parent.related_model
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


def _policy(model: type[models.Model]) -> str:
    rule = rule_of(model)
    written = _OF_LAB if any(f.column == "lab_id" for f in _columns(model)) else rule
    table = _table(model)
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        f"DROP POLICY IF EXISTS sight ON {table};"
        f"CREATE POLICY sight ON {table} USING ({_SEES_ALL} OR {rule})"
        f" WITH CHECK ({_SEES_ALL} OR {written});"
    )


def _columns(model: type[models.Model]) -> tuple[Any, ...]:
    return tuple(model._meta.concrete_fields)


def statements(*, with_policies: bool = True) -> str:
    """Return all that lays down the policies, once more or for the first time."""
    parameters = {"study": "of_study", "lab": "of_lab"}
    version = f"""
        CREATE OR REPLACE FUNCTION public.virtlab_study_version(
            of_study bigint, of_lab bigint
        ) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
        SET search_path = pg_catalog, public, pg_temp
        AS $version$ BEGIN RETURN ({VERSION % parameters}); END $version$
    """
    policies = [_policy(model) for model in secured_models()] if with_policies else []
    return ";".join([_SEES_TOOL, version, _SEE, *policies])


def is_enforced() -> bool:
    """Return whether row-level security binds whoever asks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_security_active('public.benchmarks_run')")
        return bool(cursor.fetchone()[0])


@contextmanager
def as_owner() -> Iterator[None]:
    """Be the owner of the tables, where OWNER_DATABASE_URL names one."""
    if not settings.OWNER_DATABASE_URL:
        yield
        return
    own = connection.settings_dict
    owner: dict[str, Any] = {**dj_database_url.parse(settings.OWNER_DATABASE_URL)}
    names = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    connection.close()
    connection.settings_dict = {**own, **{name: owner[name] for name in names}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = own


def secure() -> None:
    """Lay down the policies, and let the application's role read and write.

    As the owner. Policies that are there already are left alone: to lay one down waits
    for all who read its table. Without any where the tables may be distributed: Citus
    takes no policy with a query in it, and its workers know nothing of the settings.
    """
    wanted = statements(with_policies=not _has_citus())
    digest = sha256(wanted.encode()).hexdigest()
    with transaction.atomic(), connection.cursor() as cursor:
        if _laid_down(cursor) != digest:
            cursor.execute(wanted)
            cursor.execute(f"COMMENT ON FUNCTION {_KNOWN_BY} IS '{digest}'")
        role = settings.DATABASES["default"]["USER"]
        cursor.execute("SELECT current_user = %s", [role])
        if not role or cursor.fetchone()[0]:
            return  # they are its own
        for granted in (
            "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public",
            "USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public",
        ):
            grant = sql.SQL("GRANT " + granted + " TO {}")  # type: ignore[arg-type]
            cursor.execute(grant.format(sql.Identifier(role)).as_string())


def _laid_down(cursor: Any) -> str | None:
    """Return the digest of what is laid down; None where a policy is missing."""
    cursor.execute(
        """
        SELECT obj_description(
            to_regprocedure(%s), 'pg_proc'
        ), (SELECT count(*) FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
            WHERE polname = 'sight' AND relrowsecurity)
        """,
        [_KNOWN_BY],
    )
    digest, policies = cursor.fetchone()
    has_all = policies == len(list(secured_models())) or _has_citus()
    return digest if has_all else None


def _has_citus() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_extension WHERE extname = 'citus'")
        return bool(cursor.rowcount)
