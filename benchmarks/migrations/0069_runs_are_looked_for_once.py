"""What belongs to a run for sure is not looked for again at every commit."""

from django.db import migrations, models
from django.db.models.deletion import CASCADE


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0068_runs_have_few_indexes")]
    operations = [
        migrations.AlterField(
            "outboxitem",
            "lab",
            models.ForeignKey(
                "benchmarks.lab", CASCADE, related_name="+", db_constraint=False
            ),
        ),
        migrations.AlterField(
            "outboxitem",
            "run",
            models.OneToOneField(
                "benchmarks.run",
                CASCADE,
                primary_key=True,
                related_name="outbox_item",
                serialize=False,
                db_constraint=False,
            ),
        ),
        migrations.AlterField(
            "run",
            "lab",
            models.ForeignKey(
                "benchmarks.lab",
                CASCADE,
                related_name="runs",
                db_index=False,
                db_constraint=False,
            ),
        ),
    ]
