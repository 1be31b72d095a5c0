from django.db import migrations, models

RUNS = models.PositiveIntegerField(null=True)
DEVIATION = models.FloatField(null=True)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0015_plan_slot_responses")]

    operations = [
        migrations.AddField(
            "cell", "summarized_runs", models.PositiveIntegerField(default=0)
        ),
        migrations.AddField("sample", "summarized_runs", RUNS),
        migrations.AddField("sample", "standard_deviation", DEVIATION),
        migrations.AddField("runmean", "summarized_runs", RUNS),
        migrations.AddField("runmean", "standard_deviation", DEVIATION),
    ]
