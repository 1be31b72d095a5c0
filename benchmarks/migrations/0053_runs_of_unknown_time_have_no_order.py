"""Runs of which nobody knows when they began have no order.

Every shape is looked at once more for it; the check that follows the upgrade writes
what is found then.
"""

from django.db import migrations

LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0052_effects_are_counted")]
    operations = [
        migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (LOOK_AGAIN, CHECK)
    ]
