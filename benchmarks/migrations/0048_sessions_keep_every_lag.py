"""Every session keeps how much its runs are like the one before, clear or not.

What counts is found from both sides of a ratio together: two that are not clear may be
clear together. The check that follows the upgrade looks at every shape once more, and
writes what sessions of five runs and more say.
"""

from django.db import migrations

LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0047_sessions_keep_a_first_run_apart")]
    operations = [
        migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (LOOK_AGAIN, CHECK)
    ]
