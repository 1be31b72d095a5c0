"""A session of a cell keeps its first run where that lies apart.

Every shape is looked at once more: what shows in several sessions counts otherwise than
before, and the check that follows the upgrade writes what is found then.
"""

from django.db import migrations, models

LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0046_versions_keep_declarations")]
    operations = [
        migrations.AddField("cellsession", "first", models.FloatField(null=True)),
        *(migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (LOOK_AGAIN, CHECK)),
    ]
