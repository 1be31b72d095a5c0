"""`manage.py upgrade_tables`: give a database of the 70 old migrations today's tables.

For installations made before 27 November 2026; `prepare` refuses these. All data stay:
what changed is how background work is queued. Deleted with the first release.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from benchmarks.migrations import _triggers
from benchmarks.models import Job, Study
from benchmarks.row_security import as_owner

LAST = "0070_impossible_effects_are_counted"
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


class Command(BaseCommand):
    """Replaces the six old queues by the table of jobs, in one transaction."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        with as_owner(), transaction.atomic():
            recorder = MigrationRecorder(connection)
            applied = recorder.migration_qs.filter(app="benchmarks")
            if not applied.filter(name=LAST).exists():
                raise CommandError(
                    "This database does not end with the old migration "
                    f"{LAST}. Nothing was changed."
                )
            with connection.cursor() as cursor:
                cursor.execute(UNFINISHED)
                [unfinished] = cursor.fetchone()
                if unfinished:
                    raise CommandError(
                        f"{unfinished} uploads, messages or publications still wait. "
                        "Start the old version, wait until /api/v1/health/ shows an "
                        "empty outbox, stop it, and run this again."
                    )
                cursor.execute(DROP_CHANGE_COUNTERS + DROP_QUEUES)
            with connection.schema_editor() as editor:
                editor.create_model(Job)
                _triggers.create_change_counters(None, editor)
            applied.exclude(name="0001_initial").delete()
            studies = Study.objects.count()
        self.stdout.write(
            f"The tables are today's. {studies} studies are unchanged. Start Virtlab."
        )
