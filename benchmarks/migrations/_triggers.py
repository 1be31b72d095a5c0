"""Triggers of the initial migration, which Django cannot generate from the models.

Published files never change (`REFUSE_CHANGES`), and every change of a row that pages
show is counted in `benchmarks_changecount` (`create_change_counters`), which
`benchmarks/studies/data_versions.py` turns into cache keys (docs/decisions/caching.md).
"""

from collections.abc import Iterator
from typing import Any

REVIEW_COLUMNS = (
    *("lab_id", "title", "authors", "note", "published_by", "product_version"),
    *("rule_set", "content", "request_digest", "requested_at", "site_url"),
)
REFUSE_CHANGES = f"""
CREATE FUNCTION refuse_change_of_version_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The files of a version never change: withdraw it instead.';
END $$;
CREATE TRIGGER version_files_never_change
    BEFORE UPDATE OR DELETE ON benchmarks_versionfile
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_version_file();
CREATE TRIGGER version_custom_tools_never_change
    BEFORE UPDATE OF custom_tools ON benchmarks_version FOR EACH ROW
    WHEN (OLD.custom_tools IS DISTINCT FROM NEW.custom_tools)
    EXECUTE FUNCTION refuse_change_of_version_file();
CREATE FUNCTION refuse_change_of_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What a review says is published: withdraw it instead.';
END $$;
CREATE TRIGGER reviews_never_change
    BEFORE UPDATE ON benchmarks_review FOR EACH ROW
    WHEN ({" OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in REVIEW_COLUMNS)}
          OR OLD.digest <> '' AND OLD.digest <> NEW.digest)
    EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER reviews_are_not_deleted
    BEFORE DELETE ON benchmarks_review
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER review_files_never_change
    BEFORE UPDATE OR DELETE ON benchmarks_reviewfile
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER reviewed_studies_never_change
    BEFORE UPDATE OR DELETE ON benchmarks_reviewedstudy
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
"""

# Which tables are counted per study or per lab, and the SQL that finds the study or lab
# of a changed row. All other tables are counted as a whole.
OF_STUDY = {
    "study_id FROM {rows} AS row": (
        *("cell", "comment", "corun", "effect", "effectsummary"),
        *("flag", "plan", "run", "session"),
    ),
    # Pages show jobs of energies and plans only if they failed.
    "study_id FROM {rows} AS row WHERE CASE WHEN kind IN ('energy', 'plan')"
    " THEN failures > 0 ELSE study_id IS NOT NULL END": ("job",),
    "cell.study_id FROM {rows} AS row LEFT JOIN {schema}.benchmarks_cell AS cell"
    " ON cell.id = row.cell_id": ("cellsession", "efficiency"),
    "run.study_id FROM {rows} AS row LEFT JOIN {schema}.benchmarks_run AS run"
    " ON run.id = row.run_id": ("runenergy", "runmean", "runwindow", "sample"),
    "flag.study_id FROM {rows} AS row LEFT JOIN {schema}.benchmarks_flag AS flag"
    " ON flag.id = row.flag_id": (
        *("flagdecision", "flag_cells", "flag_quoted_studies", "flag_runs"),
    ),
}
OF_LAB = {
    "lab_id FROM {rows} AS row": (
        *("agent", "host", "meter", "customtool", "powerchunk", "system"),
    ),
    "tool.lab_id FROM {rows} AS row LEFT JOIN {schema}.benchmarks_customtool AS tool"
    " ON tool.id = row.tool_id": ("customtoolversion",),
}
WHOLE = (
    *("commentrevision", "lab", "membership", "planpart", "planslot", "planstep"),
    *("publicevidence", "publishingjob", "reparse", "review", "reviewedstudy"),
    *("savedview", "signature", "study", "study_shared_with"),
    *("version", "version_quoted_studies"),
)
# Only these columns of a user appear on pages; `last_login` does not count.
SHOWN = ("username", "first_name", "last_name", "email", "is_active", "is_staff")

TABLE = """
CREATE TABLE benchmarks_changecount (
    relation text NOT NULL, part bigint NOT NULL, n bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 20000
);
CREATE INDEX change_count_by_part ON benchmarks_changecount (relation, part) INCLUDE (n);
GRANT SELECT ON benchmarks_changecount TO PUBLIC;
"""
# Part 0 counts every change of the table, part -1 each change that affects all parts.
NOTE = """
CREATE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.benchmarks_changecount (relation, part, n)
    {found};
    RETURN NULL;
END $$;
"""
PARTS = """
    SELECT TG_TABLE_NAME,
           CASE WHEN grouping(part) = 1 THEN 0 ELSE coalesce(part, -1) END, 1
    FROM ({rows}) AS changed (part)
    GROUP BY GROUPING SETS ((part), ()) HAVING count(*) > 0
"""
ALL = "SELECT TG_TABLE_NAME, 0, 1 WHERE EXISTS (SELECT FROM {rows})"
BOTH = "SELECT TG_TABLE_NAME, part, 1 FROM (VALUES (0), (-1)) AS each (part)"
GATHER = """
CREATE FUNCTION {schema}.merge_change_counts(most bigint) RETURNS bigint LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH many AS (
        SELECT relation, part FROM {schema}.benchmarks_changecount
        GROUP BY relation, part HAVING count(*) > most
    ), gone AS (
        DELETE FROM {schema}.benchmarks_changecount AS note USING many
        WHERE note.relation = many.relation AND note.part = many.part
        RETURNING note.relation, note.part, note.n
    ), together AS (
        INSERT INTO {schema}.benchmarks_changecount (relation, part, n)
        SELECT relation, part, sum(n) FROM gone GROUP BY relation, part
    )
    SELECT count(*) FROM gone
$$;
"""
TRIGGER = """
CREATE TRIGGER {name} AFTER {event} ON {schema}.{table} {rows}
FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{function}();
ALTER TABLE {schema}.{table} ENABLE ALWAYS TRIGGER {name};
"""
EVENTS = {
    "INSERT": ("inserted", "REFERENCING NEW TABLE AS inserted"),
    "DELETE": ("deleted", "REFERENCING OLD TABLE AS deleted"),
    "UPDATE": (
        "updated",
        "REFERENCING OLD TABLE AS deleted NEW TABLE AS inserted",
    ),
}


def change_counters(schema: str) -> Iterator[str]:
    """Yield the SQL of the change counters: functions, then triggers."""
    yield GATHER.format(schema=schema)
    yield NOTE.format(schema=schema, name="count_change_of_all_parts", found=BOTH)
    yield NOTE.format(
        schema=schema,
        name="count_change_of_table",
        found="SELECT TG_TABLE_NAME, 0, 1",
    )
    found: dict[tuple[str, str], str] = {}
    for number, (rows, tables) in enumerate({**OF_STUDY, **OF_LAB}.items()):
        for event in EVENTS:
            parts = " UNION ALL ".join(
                f"SELECT {rows.format(rows=each, schema=schema)}"
                for each in ("deleted", "inserted")
                if f" {each}" in EVENTS[event][1]
            )
            name = f"count_{EVENTS[event][0]}_parts_{number}"
            yield NOTE.format(
                schema=schema, name=name, found=PARTS.format(rows=parts)
            )
            found |= {(f"benchmarks_{table}", event): name for table in tables}
    for event, (words, _) in EVENTS.items():
        seen = "deleted" if event == "DELETE" else "inserted"
        name = f"count_{words}_rows"
        yield NOTE.format(schema=schema, name=name, found=ALL.format(rows=seen))
        whole = {(f"benchmarks_{table}", event): name for table in WHOLE}
        found |= whole
    # A new case is on no page of a study yet; a changed case may be on any.
    found["benchmarks_case", "INSERT"] = "count_inserted_rows"
    found["auth_user", "INSERT"] = "count_inserted_rows"
    found["auth_user", "DELETE"] = "count_deleted_rows"
    del found["benchmarks_sample", "INSERT"]
    for (table, event), function in found.items():
        words, rows = EVENTS[event]
        yield TRIGGER.format(
            name=f"{event.lower()}s_are_counted",
            event=event,
            table=table,
            rows=rows,
            function=function,
            schema=schema,
        )
    for event in ("UPDATE", "DELETE"):
        yield TRIGGER.format(
            name=f"{event.lower()}s_are_counted",
            event=event,
            table="benchmarks_case",
            rows="",
            function="count_change_of_all_parts",
            schema=schema,
        )
    changes = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in SHOWN)
    yield f"""
        CREATE TRIGGER updates_are_counted AFTER UPDATE ON {schema}.auth_user
        FOR EACH ROW WHEN ({changes})
        EXECUTE FUNCTION {schema}.count_change_of_table();
        ALTER TABLE {schema}.auth_user
        ENABLE ALWAYS TRIGGER updates_are_counted;
    """
    for table in sorted({table for table, _ in found} | {"benchmarks_sample"}):
        yield TRIGGER.format(
            name="truncates_are_counted",
            event="TRUNCATE",
            table=table,
            rows="",
            function="count_change_of_all_parts",
            schema=schema,
        )


def create_change_counters(apps: Any, schema_editor: Any) -> None:
    """Create the counters in the schema of the connection."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        schema = cursor.fetchone()[0]
    for statement in (TABLE, *change_counters(schema)):
        schema_editor.execute(statement)
