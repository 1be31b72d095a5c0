"""Every cell's shape is looked at once more, by rule set 2: what counts is its effect.

The check that follows the upgrade writes what is found then.
"""

from django.db import migrations

LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0031_studies_know_their_rules")]
    operations = [
        migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (LOOK_AGAIN, CHECK)
    ]
