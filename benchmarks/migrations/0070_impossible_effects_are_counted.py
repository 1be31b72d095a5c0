"""Effects that cannot be, says a flag, are counted and left out of ranges."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0069_runs_are_looked_for_once")]
    operations = [
        migrations.AddField(
            "effectsummary", "impossible", models.PositiveIntegerField(default=0)
        ),
    ]
