"""`manage.py upgrade_tables`: upgrade the tables of a version without releases.

This is for installations made before 28 November 2026, which `prepare` refuses. All
data stay: tables, columns and stored codes get their present names. The six old queues
of background work must be empty; the table of jobs replaces them. This command will be
deleted with the first release.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from benchmarks.evidence.queries import Question, refresh_public_evidence
from benchmarks.migrations import _triggers
from benchmarks.models import Effect, Flag, Job, Study
from benchmarks.plausibility.findings import RuleFinding, Subject
from benchmarks.plausibility.rules.run_warnings import warning_values
from benchmarks.rls_policies import as_owner
from benchmarks.sentences import Sentence

LAST_OLD_MIGRATION = "0070_impossible_effects_are_counted"
IS_OUTDATED = """
    SELECT EXISTS (SELECT FROM information_schema.columns
        WHERE table_name = 'benchmarks_run' AND column_name = 'sitting_id')
"""
UNFINISHED = """
    SELECT (SELECT count(*) FROM benchmarks_outboxitem)
         + (SELECT count(*) FROM benchmarks_letter WHERE state = 'waiting')
         + (SELECT count(*) FROM benchmarks_delivery WHERE state = 'waiting')
         + (SELECT count(*) FROM benchmarks_publishingjob
            WHERE stage IN ('waiting', 'collecting', 'typesetting'))
         + (SELECT count(*) FROM benchmarks_review WHERE digest = '')
"""
DROP_CHANGE_COUNTERS = r"""
    DO $$
    DECLARE found record;
    BEGIN
        FOR found IN SELECT tgname, tgrelid::regclass AS place FROM pg_trigger
            WHERE tgname ~ '^what_is_[a-z]+_is_noted$'
        LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', found.tgname, found.place);
        END LOOP;
        FOR found IN SELECT oid::regprocedure AS name FROM pg_proc
            WHERE proname ~ '^note_(change_of|inserted|deleted|updated)_'
               OR proname = 'gather_changes'
        LOOP
            EXECUTE format('DROP FUNCTION %s', found.name);
        END LOOP;
    END $$;
    DROP TABLE benchmarks_change;
"""
DROP_QUEUES = """
    DROP TABLE benchmarks_outboxitem, benchmarks_duecheck, benchmarks_dueenergy,
        benchmarks_unfinishedwork;
    ALTER TABLE benchmarks_picture DROP COLUMN seen_at;
    ALTER TABLE benchmarks_report DROP COLUMN seen_at;
    ALTER TABLE benchmarks_review DROP COLUMN seen_at, DROP COLUMN attempts;
    ALTER TABLE benchmarks_publishingjob DROP COLUMN seen_at, DROP COLUMN attempts;
    ALTER TABLE benchmarks_studynews DROP COLUMN due_since;
    ALTER TABLE benchmarks_webhook DROP COLUMN hinted_at;
    ALTER TABLE benchmarks_letter DROP COLUMN next_at, DROP COLUMN tried_at;
    DROP INDEX deliveries_that_wait;
"""
DROP_POLICIES = """
    DO $$
    DECLARE found record;
    BEGIN
        FOR found IN SELECT polrelid::regclass AS place FROM pg_policy
            WHERE polname = 'sight'
        LOOP
            EXECUTE format('DROP POLICY sight ON %s', found.place);
        END LOOP;
        FOR found IN SELECT oid::regprocedure AS name FROM pg_proc
            WHERE proname IN ('virtlab_see', 'virtlab_systems', 'virtlab_hosts',
                              'virtlab_sees_tool')
        LOOP
            EXECUTE format('DROP FUNCTION %s', found.name);
        END LOOP;
    END $$;
"""
# Old and new names; tables first. The order matters in benchmarks_run.
TABLES = """
    decision flagdecision, earliertext commentrevision, letter outgoingemail,
    owntool customtool, owntoolversion customtoolversion, picture chartfile,
    reread reparse, studynews studyeventstate, flag_quotes flag_quoted_studies,
    event_quotes event_quoted_studies, version_quotes version_quoted_studies
"""
COLUMNS = {
    "auditentry": "who actor, at created_at",
    "cell": (
        "setting common_facts, shape_moves order_shift, session_id declared_session_id"
    ),
    "cellsession": "first first_mean",
    "chartfile": (
        "site site_url, stamp request_digest, form file_format, drawn chart_data"
    ),
    "comment": "who author",
    "customtoolversion": "who declared_by, at declared_at",
    "delivery": (
        "next_at next_attempt_at, tried_at attempted_at, status http_status, "
        "took_ms duration_ms"
    ),
    "digest": "every frequency, labs includes_own_labs, told_until last_event_id",
    "effect": "work work_class, obstacle exclusion",
    "effectsummary": (
        "work work_class, cells cell_count, ratios ratio_count, low min_log_ratio, "
        "high max_log_ratio, total log_ratio_sum, fewest min_runs, most max_runs, "
        "flagged flagged_count, impossible impossible_count"
    ),
    "event": "at occurred_at, sentence message",
    "flag": "sentence message, found_at detected_at, gone_at resolved_at",
    "flagdecision": "who decided_by, at decided_at",
    "job": (
        "is_read is_preparsed, samples sample_count, hinted_at dispatched_at, "
        "tried_at attempted_at, batch claim_id, batch_size claim_size, "
        "server_started_at claimed_server_started_at, version failed_version"
    ),
    "lab": "needs_second_factor requires_second_factor",
    "outgoingemail": "sealed encrypted_secret",
    "plan": (
        "barrier_s barrier_timeout_s, join_s join_timeout_s, most_attempts "
        "max_attempts, most_repetitions max_repetitions, width_percent "
        "target_width_percent, who created_by"
    ),
    "planpart": (
        "seen_at last_seen_at, began_us started_us, bound_us clock_error_us, "
        "limit_s timeout_s, keys run_keys"
    ),
    "planslot": "instance instance_id, seen_at last_seen_at",
    "planstep": (
        "sequence start_order, began_at started_at, spread_us start_spread_us"
    ),
    "powerchunk": "stamps clock_stamps, number chunk_number",
    "publicevidence": "work work_class, without without_flagged",
    "publishingjob": (
        "site site_url, licence publishing_permission, licence_note permission_note"
    ),
    "report": "site site_url, stamp request_digest",
    "review": (
        "site site_url, withdrawn_reason withdrawal_reason, stamp request_digest"
    ),
    "run": (
        "session_id declared_session_id, part upload_position, source_id "
        "first_run_id, declared_version custom_tool_version, sitting_id session_id"
    ),
    "runenergy": (
        "lead_id lead_run_id, together overlapping_runs, samples sample_count, "
        "is_external is_external_clock, covered_s measured_s"
    ),
    "runwindow": (
        "is_external is_external_clock, begin_at started_at, end_at ended_at"
    ),
    "savedview": "who saved_by, address path",
    "signature": "who signed_by, at signed_at",
    "studyrollup": "leant_on baseline_studies, version data_version",
    "system": "is_above_hypervisor is_nested",
    "version": (
        "licence publishing_permission, licence_note permission_note, declarations "
        "custom_tools, withdrawn_reason withdrawal_reason, judged assessed_level"
    ),
    "versionfile": "form name",
    "webhook": "site site_url, url target_url, made_by created_by",
}
INDEXES = """
    own_views_of_a_person saved_view_by_person,
    question_is_answered_once question_is_stored_once,
    jobs_that_are_due job_by_due_time,
    own_tool_slug_is_unique_in_a_lab custom_tool_slug_is_unique_in_a_lab,
    own_tool_version_is_numbered_once custom_tool_version_is_numbered_once,
    slot_is_there_once_in_a_plan slot_number_is_unique_in_a_plan,
    step_has_one_place_in_a_plan step_position_is_unique_in_a_plan,
    version_has_each_form_once version_has_each_format_once,
    picture_is_drawn_once chart_file_is_generated_once,
    report_is_made_once report_is_generated_once,
    reread_unfinished reparse_unfinished,
    run_by_source run_by_first_run,
    run_by_session run_by_declared_session, run_by_sitting run_by_session
"""
CODES = {
    "job.kind": "picture chart, news events, letter email",
    "auditentry.kind": "made_lab created_lab, made_webhook created_webhook",
    "planstep.status": "gathering at_barrier, not_done skipped",
    "planpart.status": "called assigned",
    "version.publishing_permission": "free unrestricted, permitted granted",
    "publishingjob.publishing_permission": "free unrestricted, permitted granted",
    "outgoingemail.kind": "new_password password_reset, address address_confirmation",
}
METRIC_KEYS = (
    "fixed_by fixed_by_parameter, zero_allowed allows_zero, primary is_primary"
)
KEYS = {
    "customtoolversion.metrics": METRIC_KEYS,
    "version.custom_tools": METRIC_KEYS,
    "plan.design": "warm_up warm_up_rounds",
}
# Deleted charts and evidence are generated again.
OTHERS = """
    ALTER TABLE benchmarks_token
        RENAME CONSTRAINT token_is_good_for_something TO token_has_a_scope;
    ALTER TRIGGER version_declarations_never_change ON benchmarks_version
        RENAME TO version_custom_tools_never_change;
    ALTER TABLE benchmarks_version ALTER publishing_permission TYPE varchar(20);
    ALTER TABLE benchmarks_publishingjob ALTER publishing_permission TYPE varchar(20);
    DELETE FROM benchmarks_chartfile;
    DELETE FROM benchmarks_publicevidence;
"""

DISABLE_TRIGGER = """
    ALTER TABLE benchmarks_version DISABLE TRIGGER version_custom_tools_never_change
"""


def is_outdated() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IS_OUTDATED)
        return bool(cursor.fetchone()[0])


def name_pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of names in a text such as "old new, old new"."""
    return [(old, new) for old, new in (pair.split() for pair in text.split(","))]


def rename_statements(columns: Mapping[str, str]) -> Iterator[str]:
    for old, new in name_pairs(TABLES):
        yield f"ALTER TABLE IF EXISTS benchmarks_{old} RENAME TO benchmarks_{new}"
    for table, text in columns.items():
        for old, new in name_pairs(text):
            yield f'ALTER TABLE benchmarks_{table} RENAME "{old}" TO "{new}"'
    for old, new in name_pairs(INDEXES):
        yield f"ALTER INDEX IF EXISTS {old} RENAME TO {new}"


def value_statements() -> Iterator[str]:
    for column_name, text in CODES.items():
        table, column = column_name.split(".")
        for old, new in name_pairs(text):
            code = old.replace("not_done", "not done")
            yield (
                f"UPDATE benchmarks_{table} SET {column} = '{new}'"
                f" WHERE {column} = '{code}'"
            )
    for column_name, text in KEYS.items():
        table, column = column_name.split(".")
        changed = f"{column}::text"
        for old, new in name_pairs(text):
            changed = f"""replace({changed}, '"{old}":', '"{new}":')"""
        yield (
            f"UPDATE benchmarks_{table} SET {column} = ({changed})::jsonb"
            f" WHERE {column}::text <> {changed}"
        )


def update_warning_fingerprints() -> None:
    """Recompute fingerprints of parser warnings, which used to contain the wording.

    So decisions about a warning remain valid when its wording changes.
    """
    repeats: Counter[object] = Counter()
    for flag in Flag.objects.filter(rule="tool-mark").order_by("pk"):
        if not isinstance(flag.message, Sentence):
            continue
        subjects = tuple(Subject(**subject) for subject in flag.subjects)
        code, mark = flag.evidence["code"], flag.message.parameters["mark"]
        assert isinstance(mark, str)
        warning = (flag.study_id, subjects, warning_values(code, mark, 0))
        values = warning_values(code, mark, repeats[warning])
        repeats[warning] += 1
        finding = RuleFinding(flag.rule, "check", mark, subjects, values=values)
        flag.fingerprint = finding.fingerprint
        flag.save(update_fields=["fingerprint"])


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        with as_owner(), transaction.atomic():
            recorder = MigrationRecorder(connection)
            applied = recorder.migration_qs.filter(app="benchmarks")
            with connection.cursor() as cursor:
                has_queues = applied.filter(name=LAST_OLD_MIGRATION).exists()
                is_complete = has_queues or applied.count() == 1
                if not is_outdated() or not is_complete:
                    raise CommandError(
                        "These tables are not of a version before 28 November 2026 "
                        f"with its last migration ({LAST_OLD_MIGRATION} or "
                        "0001_initial). Nothing was changed."
                    )
                if has_queues:
                    cursor.execute(UNFINISHED)
                    [unfinished] = cursor.fetchone()
                    if unfinished:
                        raise CommandError(
                            f"{unfinished} uploads, messages or publications are still "
                            "waiting. Start the old version, wait until "
                            "/api/v1/health/ shows an empty outbox, stop it, and run "
                            "this again."
                        )
                    cursor.execute(DROP_QUEUES)
                cursor.execute(DROP_CHANGE_COUNTERS + DROP_POLICIES)
            with connection.schema_editor() as editor:
                if has_queues:
                    editor.create_model(Job)
                columns = {
                    table: pairs
                    for table, pairs in COLUMNS.items()
                    if table != "job" or not has_queues
                }
                for statement in (
                    *rename_statements(columns),
                    OTHERS,
                    DISABLE_TRIGGER,
                    *value_statements(),
                    DISABLE_TRIGGER.replace("DISABLE", "ENABLE"),
                ):
                    editor.execute(statement)
                _triggers.create_change_counters(None, editor)
            applied.exclude(name="0001_initial").delete()
            update_warning_fingerprints()
            effects = Effect.objects.exclude(work_class="").order_by()
            names = effects.values_list("hypervisor", "work_class").distinct()
            refresh_public_evidence(Question(*pair) for pair in names)
            studies = Study.objects.count()
        self.stdout.write(
            f"Tables upgraded. {studies} studies are unchanged. Start Virtlab."
        )
