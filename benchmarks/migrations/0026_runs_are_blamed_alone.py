"""A run is blamed for what failed while it alone was in hand: old counts say less."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0025_cells_know_near_cases")]

    operations = [
        migrations.RemoveField("outboxitem", "attempts"),
        migrations.AddField(
            "outboxitem", "failures", models.PositiveSmallIntegerField(default=0)
        ),
        migrations.AddField(
            "outboxitem", "batch", models.UUIDField(blank=True, null=True)
        ),
        migrations.AddField(
            "outboxitem", "batch_size", models.PositiveIntegerField(default=0)
        ),
        migrations.AddField(
            "outboxitem",
            "server_started_at",
            models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            "outboxitem",
            "quarantined_by",
            models.CharField(blank=True, max_length=50),
        ),
    ]
