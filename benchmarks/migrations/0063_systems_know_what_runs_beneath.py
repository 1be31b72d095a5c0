"""Systems know whether their Windows ran above its own hypervisor."""

from django.db import migrations, models

SEEN = """
    UPDATE benchmarks_system SET is_above_hypervisor = true
    WHERE id IN (
        SELECT system_id FROM benchmarks_run
        WHERE facts ->> 'virtualization-based security' LIKE 'running%%'
    )
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0062_versions_have_dois")]
    operations = [
        migrations.AddField(
            "system", "is_above_hypervisor", models.BooleanField(default=False)
        ),
        migrations.RunSQL(SEEN, migrations.RunSQL.noop),
    ]
