"""Runs sit in the session that was named; the next check derives all others.

Every study is noted to be checked, and every cell to be looked at again: the check
writes what each session of it says.
"""

from django.db import migrations

# An agent's own name for one start of it is no sitting (`analysis.sessions`).
NAMED = """
    UPDATE benchmarks_run SET sitting_id = session.id
    FROM benchmarks_session AS session
    WHERE session.id = session_id AND session.name !~ '^agent-[0-9a-f]{12}$'
"""
LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_run)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0027_runs_have_a_sitting")]
    operations = [
        migrations.RunSQL(sql, migrations.RunSQL.noop)
        for sql in (NAMED, LOOK_AGAIN, CHECK)
    ]
