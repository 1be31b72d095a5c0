"""Row-level security: policies for each table, derived from the models.

A row is visible to members of its lab and to all who can see its study. A row that has
neither lab nor study is visible to all who can see its parent. `prepare` creates the
policies as the owner of the tables; they apply to the application's role (`rls`).
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

from benchmarks import rls
from benchmarks.models import (
    Agent,
    Case,
    Cell,
    ChartFile,
    Comment,
    CommentRevision,
    CustomTool,
    Digest,
    Event,
    FeedToken,
    Flag,
    Follow,
    Host,
    Invitation,
    Lab,
    Membership,
    Meter,
    OutgoingEmail,
    Plan,
    PlanSlot,
    PublicEvidence,
    Review,
    ReviewedStudy,
    Run,
    RunEnergy,
    SavedView,
    SearchMiss,
    Study,
    System,
    Token,
    Version,
    Webhook,
)
from benchmarks.studies.data_versions import STUDY_VERSION_SQL
from benchmarks.studies.lookup import PAGE_CONDITIONS

_READ_BEFORE_SIGN_IN = "asked before anybody is known"
_PUBLIC = "says what all may know"
_ONLY_IDS = "ties two rows together, and says no more than their ids"
UNPROTECTED_MODELS: Final[Mapping[type[models.Model], str]] = {
    Membership: _READ_BEFORE_SIGN_IN,
    Agent: _READ_BEFORE_SIGN_IN,
    Token: _READ_BEFORE_SIGN_IN,
    Invitation: _READ_BEFORE_SIGN_IN,
    FeedToken: _READ_BEFORE_SIGN_IN,
    OutgoingEmail: _READ_BEFORE_SIGN_IN,
    Digest: "ended by a link in a letter, by whoever has it",
    Lab: _PUBLIC,
    Case: _PUBLIC,
    PublicEvidence: _PUBLIC,
    # Read to detect links to hidden studies.
    ReviewedStudy: _ONLY_IDS,
    Flag.cells.through: _ONLY_IDS,
    Flag.runs.through: _ONLY_IDS,
    Flag.quoted_studies.through: _ONLY_IDS,
    Version.quoted_studies.through: _ONLY_IDS,
    Event.quoted_studies.through: _ONLY_IDS,
    SearchMiss: "words without their author; one page for editors shows them",
    ChartFile: "found by a digest of all that it shows",
}
PARENT_FIELDS: Final = (
    *("run", "cell", "flag", "version", "plan", "step", "review", "tool", "meter"),
    "comment",
)
"""Names of parents that decide about rows without a study; the first one counts."""


_LABS = "(SELECT nullif(current_setting('virtlab.labs', true), '')::bigint[])"
_LAB_IS_VISIBLE_SQL = f"lab_id = ANY ({_LABS}::bigint[])"
_LAB_IS_FULLY_VISIBLE_SQL = (
    f"lab_id = ANY ({_LABS.replace('labs', 'fully_visible_labs')}::bigint[])"
)
"""A condition for labs whose rows are all visible, without looking up parents."""


_IS_OWN_SQL = (
    "person_id = (SELECT nullif(current_setting('virtlab.person', true), '')::bigint)"
)


def _is_in_bitmap_sql(column: str, bitmap: str) -> str:
    """Return the condition that the id's byte in a bitmap is "1".

    A bitmap is faster than a list of ids.
    """
    byte = f"substring(({bitmap}), {column}::integer, 1)"
    return f"coalesce(nullif({byte}, ''), '0') <> '0'"


def _study_is_visible_sql(column: str) -> str:
    return _is_in_bitmap_sql(
        column, "SELECT current_setting('virtlab.visible_studies', true)::bytea"
    )


def _table(model: type[models.Model]) -> str:
    return f"public.{model._meta.db_table}"


def _quotes_hidden_study_sql(links: type[models.Model], name: str, of: str) -> str:
    return (
        f"EXISTS (SELECT FROM {_table(links)} AS quoted WHERE quoted.{name} = {of}.id"
        f" AND NOT {_study_is_visible_sql('quoted.study_id')})"
    )


def _bitmap_sql(ids: str) -> str:
    return f"""
        SELECT coalesce(string_agg(repeat('0', (id - before - 1)::integer) || '1', ''
                                   ORDER BY id), '0')
        FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY id) AS before
              FROM ({ids}) AS seen) AS seen
    """


# A function with the owner's rights, because nested policies are planned slowly.
_SEES_TOOL: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_can_see_tool(text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER COST 500 SET search_path = pg_catalog
    AS $sees$
        SELECT EXISTS (SELECT FROM {_table(Cell)} AS cell
                       JOIN {_table(Case)} AS kase ON kase.id = cell.case_id
                       WHERE kase.tool = $1
                       AND {_study_is_visible_sql("cell.study_id")})
            OR EXISTS (SELECT FROM {_table(Run)}
                       WHERE tool = $1 AND {_study_is_visible_sql("study_id")})
    $sees$
"""
_SYSTEMS_IN_VISIBLE_STUDIES_SQL = f"""
    SELECT id FROM {_table(System)} AS system
    WHERE lab_id <> ALL (labs) AND (
        EXISTS (SELECT FROM {_table(Cell)} AS cell
                WHERE system_id = system.id AND {_study_is_visible_sql("study_id")})
        -- Nobody could read what was measured there, or nothing was yet.
        OR EXISTS (SELECT FROM {_table(Run)} AS run
                   WHERE system_id = system.id AND {_study_is_visible_sql("study_id")})
        OR EXISTS (SELECT FROM {_table(PlanSlot)} AS slot
                   JOIN {_table(Plan)} AS plan ON plan.id = slot.plan_id
                   WHERE slot.system_id = system.id
                     AND {_study_is_visible_sql("plan.study_id")}))
"""
_HOSTS_OF_SYSTEMS_SQL = f"""
    SELECT DISTINCT host_id AS id FROM {_table(System)}
    WHERE {_is_in_bitmap_sql("id", "systems")}
"""
# Systems and machines of other labs in visible studies, computed when first needed.
_SYSTEMS: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_visible_systems() RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $systems$
    DECLARE
        marks text := current_setting('virtlab.visible_systems', true);
        labs bigint[] := nullif(current_setting('virtlab.labs', true), '');
    BEGIN
        IF marks = '' THEN
            marks := ({_bitmap_sql(_SYSTEMS_IN_VISIBLE_STUDIES_SQL)});
            PERFORM set_config('virtlab.visible_systems', marks, false);
        END IF;
        RETURN marks::bytea;
    END $systems$;
    CREATE OR REPLACE FUNCTION public.virtlab_visible_hosts() RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $hosts$
    DECLARE
        marks text := current_setting('virtlab.visible_hosts', true);
        systems bytea;
    BEGIN
        IF marks = '' THEN
            systems := public.virtlab_visible_systems();
            marks := ({_bitmap_sql(_HOSTS_OF_SYSTEMS_SQL)});
            PERFORM set_config('virtlab.visible_hosts', marks, false);
        END IF;
        RETURN marks::bytea;
    END $hosts$
"""
_SPECIAL_POLICIES: Final[Mapping[type[models.Model], str]] = {
    # The lab is tested, too: the bitmap lacks studies created in this request.
    Study: f"{_LAB_IS_VISIBLE_SQL} OR {_study_is_visible_sql('id')}",
    System: (
        f"{_LAB_IS_VISIBLE_SQL} OR "
        f"{_is_in_bitmap_sql('id', 'SELECT public.virtlab_visible_systems()')}"
    ),
    Host: (
        f"{_LAB_IS_VISIBLE_SQL} OR "
        f"{_is_in_bitmap_sql('id', 'SELECT public.virtlab_visible_hosts()')}"
    ),
    CustomTool: f"{_LAB_IS_VISIBLE_SQL} OR public.virtlab_can_see_tool(name)",
    Meter: f"{_LAB_IS_VISIBLE_SQL} OR EXISTS (SELECT FROM {_table(RunEnergy)} AS energy"
    " WHERE energy.meter_id = benchmarks_meter.id)",
    Flag: f"{_study_is_visible_sql('study_id')} AND NOT "
    + _quotes_hidden_study_sql(
        Flag.quoted_studies.through, "flag_id", "benchmarks_flag"
    ),
    Version: f"{_study_is_visible_sql('study_id')} AND NOT "
    + _quotes_hidden_study_sql(
        Version.quoted_studies.through, "version_id", "benchmarks_version"
    ),
    Event: f"{_study_is_visible_sql('study_id')} AND NOT "
    + _quotes_hidden_study_sql(
        Event.quoted_studies.through, "event_id", "benchmarks_event"
    ),
    Review: (
        "NOT "
        + _quotes_hidden_study_sql(ReviewedStudy, "review_id", "benchmarks_review")
    ),
    # Not with the study: its viewers must not see webhooks of other labs.
    Webhook: _LAB_IS_VISIBLE_SQL,
    SavedView: f"{_LAB_IS_VISIBLE_SQL} OR {_IS_OWN_SQL}",
    Follow: _IS_OWN_SQL,
}
_CHECKED_LIKE_READS: Final = {Comment, CommentRevision, SavedView}
"""Models that everyone who sees a row may write; only their lab writes the others."""
_VISIBLE_STUDIES_SQL = f"""
    SELECT id FROM {_table(Study)} AS study
    WHERE visibility = '{Study.Visibility.PUBLIC.value}' OR lab_id = ANY (labs)
       OR (visibility = '{Study.Visibility.SHARED.value}' AND EXISTS (
           SELECT FROM {_table(Study.shared_with.through)} AS share
           WHERE share.study_id = study.id AND share.lab_id = ANY (labs)))
"""
# Called once per request: sets the labs of a person and the visible studies. Its
# comment stores a digest of all statements.
_DIGEST_FUNCTION: Final = "public.virtlab_set_rls_context(bigint[], bigint)"
_SET_CONTEXT_FUNCTION_SQL: Final = f"""
    CREATE OR REPLACE FUNCTION public.virtlab_set_rls_context(
        labs bigint[], person bigint)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $see$
    DECLARE studies text;
    BEGIN
        IF person IS NOT NULL THEN
            labs := labs || ARRAY(
                SELECT lab_id FROM {_table(Membership)} WHERE user_id = person
            );
        END IF;
        studies := ({_bitmap_sql(_VISIBLE_STUDIES_SQL)});
        PERFORM set_config('virtlab.labs', labs::text, false),
                set_config('virtlab.person', coalesce(person::text, ''), false),
                set_config('virtlab.visible_studies', studies, false),
                set_config('virtlab.visible_systems', '', false),
                set_config('virtlab.visible_hosts', '', false),
                set_config('virtlab.fully_visible_labs', (labs || ARRAY(
                    SELECT DISTINCT lab_id FROM {_table(Study)}
                    EXCEPT SELECT lab_id FROM {_table(Study)}
                    WHERE NOT {_is_in_bitmap_sql("id", "studies::bytea")}
                ))::text, false);
    END $see$
"""


def protected_models() -> Iterator[type[models.Model]]:
    all_models = apps.get_app_config("benchmarks").get_models(include_auto_created=True)
    return (model for model in all_models if model not in UNPROTECTED_MODELS)


def policy_condition(model: type[models.Model]) -> str:
    """Raise TypeError if the model has neither a lab, a study nor a parent."""
    if special := _SPECIAL_POLICIES.get(model):
        return special
    columns = {field.column: field for field in model._meta.concrete_fields}
    study: Any = columns.get("study_id")
    if study and not study.null:
        return _study_is_visible_sql("study_id")
    conditions = [_LAB_IS_VISIBLE_SQL] if "lab_id" in columns else []
    if study:
        conditions.append(_study_is_visible_sql("study_id"))
        return " OR ".join(conditions)
    for name in PARENT_FIELDS:
        if parent := columns.get(f"{name}_id"):
            # The parent's policy applies to this subquery.
            table = model._meta.db_table
            of: Any = parent.related_model
            if conditions and of in (Run, Cell):
                conditions = [_LAB_IS_FULLY_VISIBLE_SQL]
            conditions.append(
                f"EXISTS (SELECT FROM {_table(of)} AS whole"
                f" WHERE whole.id = {table}.{name}_id)"
            )
            break
    if not conditions:
        raise TypeError(
            f"{model.__name__} has no row policy: give it a lab, study or parent, or "
            "leave it open with a reason (benchmarks/rls_policies.py)."
        )
    return " OR ".join(conditions)


def policy_sql(*, with_policies: bool = True) -> str:
    version = STUDY_VERSION_SQL % {"study": "of_study", "lab": "of_lab"}
    function_bodies = {
        "study_version(of_study bigint, of_lab bigint)": ("text", version)
    } | {
        f"has_{page}(of_study bigint)": ("boolean", question)
        for page, question in PAGE_CONDITIONS.items()
    }
    # SECURITY DEFINER, so that the results are equal for all viewers of a study.
    functions = [
        f"""
        CREATE OR REPLACE FUNCTION public.virtlab_{call} RETURNS {kind}
        LANGUAGE plpgsql STABLE SECURITY DEFINER
        SET search_path = pg_catalog, public, pg_temp
        AS $body$ BEGIN RETURN ({question}); END $body$
        """
        for call, (kind, question) in function_bodies.items()
    ]
    policies = []
    for model in protected_models() if with_policies else ():
        rule, table = policy_condition(model), _table(model)
        columns = {field.column for field in model._meta.concrete_fields}
        is_of_lab = "lab_id" in columns and model not in _CHECKED_LIKE_READS
        policies.append(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
            f"DROP POLICY IF EXISTS visible_rows ON {table};"
            f"CREATE POLICY visible_rows ON {table} USING ({rule})"
            f" WITH CHECK ({_LAB_IS_VISIBLE_SQL if is_of_lab else rule});"
        )
    return ";".join(
        [_SEES_TOOL, _SYSTEMS, *functions, _SET_CONTEXT_FUNCTION_SQL, *policies]
    )


def is_enforced() -> bool:
    with rls.deny_all(), connection.cursor() as cursor:
        cursor.execute("SELECT row_security_active('public.benchmarks_run')")
        return bool(cursor.fetchone()[0])


@contextmanager
def as_owner() -> Iterator[None]:
    """Connect as the owner of the tables (OWNER_DATABASE_URL, if set) in this block."""
    if not settings.OWNER_DATABASE_URL:
        yield
        return
    current = connection.settings_dict
    parsed = dj_database_url.parse(settings.OWNER_DATABASE_URL)
    # A URL without a query string has no OPTIONS.
    owner: dict[str, Any] = {"OPTIONS": {}, **parsed}
    names = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    connection.close()
    connection.settings_dict = {**current, **{name: owner[name] for name in names}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = current


def install_policies() -> None:
    """Create functions and policies (no policies on Citus), and grant privileges.

    Unchanged policies are not created again, because that waits for all readers of
    their tables.
    """
    statements = policy_sql(with_policies=not _has_citus())
    digest = sha256(statements.encode()).hexdigest()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT obj_description(to_regprocedure(%s), 'pg_proc'), (
                SELECT count(*) FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
                WHERE polname = 'visible_rows' AND relrowsecurity)
            """,
            [_DIGEST_FUNCTION],
        )
        installed, policies = cursor.fetchone()
        has_all = policies == len(list(protected_models())) or _has_citus()
        if installed != digest or not has_all:
            cursor.execute(statements)
            cursor.execute(f"COMMENT ON FUNCTION {_DIGEST_FUNCTION} IS '{digest}'")
        role = settings.DATABASES["default"]["USER"]
        cursor.execute("SELECT current_user = %s", [role])
        if not role or cursor.fetchone()[0]:
            return  # the application is the owner
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [rls.BYPASS_ROLE])
        roles = [role, rls.BYPASS_ROLE] if cursor.rowcount else [role]
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
