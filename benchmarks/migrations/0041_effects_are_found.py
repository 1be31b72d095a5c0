"""Every study is checked once more: its check stores what pages over all studies read."""

from django.db import migrations

CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT id, now() FROM benchmarks_study
    WHERE id IN (SELECT study_id FROM benchmarks_cell)
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0040_studies_keep_effects")]
    operations = [migrations.RunSQL(CHECK, migrations.RunSQL.noop)]
