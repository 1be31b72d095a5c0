"""A cell keeps by how much the order of its runs moves its mean.

Every shape is looked at once more for it; the check that follows the upgrade writes
what is found then.
"""

from django.db import migrations, models

LOOK_AGAIN = "UPDATE benchmarks_cell SET shaped_at = NULL"
CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0033_samples_are_derived")]
    operations = [
        migrations.AddField("cell", "shape_moves", models.FloatField(null=True)),
        *(migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in (LOOK_AGAIN, CHECK)),
    ]
