import django.db.models.deletion
from django.db import migrations, models

# The checks after the upgrade compute the evidence again.
DELETE_EVIDENCE = """
    DELETE FROM benchmarks_effect;
    DELETE FROM benchmarks_effectsummary;
    DELETE FROM benchmarks_publicevidence;
"""
NEW_SUMMARY_FIELDS = {
    "doubtful_count": models.PositiveIntegerField(default=0),
    "sure_min_log_ratio": models.FloatField(default=0.0),
    "sure_max_log_ratio": models.FloatField(default=0.0),
    "sure_log_ratio_sum": models.FloatField(default=0.0),
    "screened_count": models.PositiveIntegerField(default=0),
    "screened_min_log_ratio": models.FloatField(default=0.0),
    "screened_max_log_ratio": models.FloatField(default=0.0),
    "screened_log_ratio_sum": models.FloatField(default=0.0),
}
EXCLUSIONS = (
    *("no_native", "relative", "other_host", "other_parameters", "unit_mismatch"),
    *("zero", "emulation", "copy", "impossible", "clock_suspect", "untimed"),
    *("no_interval", "single_run", "no_spread"),
)
DOUBTS = (
    *("baselines_disagree", "flagged", "stale_baseline", "other_session"),
    *("no_steady_state", "order", "noisy"),
)


LABELS = {"relative": "Against Reference", "stale_baseline": "Stale"}


def choices(codes):
    return [(code, LABELS.get(code, code.replace("_", " ").title())) for code in codes]


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0004_runs_may_have_failed")]

    operations = [
        migrations.RunSQL(DELETE_EVIDENCE, migrations.RunSQL.noop),
        migrations.AddField(
            "cell",
            "original",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="copies",
                to="benchmarks.cell",
            ),
        ),
        migrations.AddIndex(
            "cell",
            models.Index(
                condition=models.Q(("original__isnull", False)),
                fields=["original"],
                name="cell_by_original",
            ),
        ),
        migrations.CreateModel(
            "RunFingerprint",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("pattern", models.BigIntegerField()),
                (
                    "cell",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fingerprints",
                        to="benchmarks.cell",
                    ),
                ),
            ],
            {
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cell", "pattern"), name="cell_has_a_pattern_once"
                    )
                ],
                "indexes": [
                    models.Index(fields=["pattern"], name="fingerprint_by_pattern")
                ],
            },
        ),
        migrations.AddField(
            "effect",
            "machine_id",
            models.BigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            "effect",
            "doubt",
            models.CharField(
                blank=True, choices=choices(DOUBTS), default="", max_length=20
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            "effect",
            "exclusion",
            models.CharField(blank=True, choices=choices(EXCLUSIONS), max_length=20),
        ),
        migrations.RemoveField("effectsummary", "flagged_count"),
        migrations.RemoveField("effectsummary", "impossible_count"),
        *(
            migrations.AddField("effectsummary", name, field)
            for name, field in NEW_SUMMARY_FIELDS.items()
        ),
        migrations.RemoveField("publicevidence", "without_flagged"),
        migrations.RemoveField("publicevidence", "with_flagged"),
        migrations.AddField(
            "publicevidence", "pools", models.JSONField(default=dict)
        ),
    ]
