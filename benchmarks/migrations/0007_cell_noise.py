from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0006_sessions_count_as_one")]

    operations = [
        migrations.AddField("cell", "display_step", models.FloatField(null=True)),
        migrations.AddField(
            "cell", "is_dependent", models.BooleanField(default=False)
        ),
        migrations.AddField(
            "cell", "outlier_runs", models.PositiveSmallIntegerField(default=0)
        ),
    ]
