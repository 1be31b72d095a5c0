from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0001_initial")]

    operations = [
        migrations.AddField("cellsession", name, models.BinaryField(default=b""))
        for name in ("run_means", "run_starts")
    ] + [
        # The checks after the upgrade fill the new columns.
        migrations.RunSQL(
            "UPDATE benchmarks_cell SET shaped_at = NULL", migrations.RunSQL.noop
        )
    ]
