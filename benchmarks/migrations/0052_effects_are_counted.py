"""What each system kept of native at each class of work is counted once, by its check.

What checks found before is counted here.
"""

import django.db.models.deletion
from django.db import migrations, models

COUNT = """
    INSERT INTO benchmarks_effectsummary (
        study_id, system_id, host_id, work,
        cells, ratios, low, high, total, fewest, most, flagged
    )
    SELECT study_id, system_id, host_id, work, count(*), count(*) FILTER (WHERE counts),
           coalesce(min(log_ratio) FILTER (WHERE counts), 0),
           coalesce(max(log_ratio) FILTER (WHERE counts), 0),
           coalesce(sum(log_ratio) FILTER (WHERE counts), 0),
           coalesce(min(n) FILTER (WHERE counts), 0),
           coalesce(max(n) FILTER (WHERE counts), 0),
           count(*) FILTER (WHERE counts AND obstacle = 'flagged')
    FROM (
        SELECT *, log_ratio IS NOT NULL AND obstacle NOT IN (
            'relative', 'emulation', 'no_steady_state'
        ) AS counts
        FROM benchmarks_effect
    ) AS effect
    GROUP BY study_id, system_id, host_id, work
"""
COUNTS = ("cells", "ratios")
NUMBERS = ("low", "high", "total")
RUNS = ("fewest", "most", "flagged")


def _of(name, **options):
    field = models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to=f"benchmarks.{name}",
        **options,
    )
    return name, field


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0051_checks_beside_others")]
    operations = [
        migrations.CreateModel(
            name="EffectSummary",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                _of("study", db_index=False),
                _of("system"),
                _of("host"),
                ("work", models.CharField(blank=True, max_length=50)),
                *((name, models.PositiveIntegerField()) for name in COUNTS),
                *((name, models.FloatField(default=0.0)) for name in NUMBERS),
                *((name, models.PositiveIntegerField(default=0)) for name in RUNS),
            ],
            options={
                "verbose_name_plural": "effect summaries",
                "constraints": [
                    models.UniqueConstraint(
                        fields=["study", "system", "work"],
                        name="effects_are_counted_once",
                    )
                ],
            },
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
