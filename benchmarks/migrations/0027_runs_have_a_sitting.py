"""Runs know the session they count in, and cells what each session of them says."""

import django.db.models.deletion
from django.db import migrations, models

import benchmarks.models.sentence


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0026_runs_are_blamed_alone")]
    operations = [
        migrations.AddField(
            "run",
            "sitting",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="sitting_runs",
                to="benchmarks.session",
            ),
        ),
        migrations.AddField(
            "session",
            "host",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="benchmarks.host",
            ),
        ),
        migrations.AddField(
            "session",
            "origin",
            models.CharField(
                choices=[
                    ("named", "Named"),
                    ("derived", "Derived"),
                    ("corrected", "Corrected"),
                ],
                default="named",
                max_length=10,
            ),
        ),
        migrations.AddField(
            "session",
            "reason",
            benchmarks.models.sentence.SentenceField(blank=True),
        ),
        migrations.AlterField(
            "auditentry",
            "kind",
            models.CharField(
                choices=[
                    ("invited", "Invited"),
                    ("withdrew", "Withdrew"),
                    ("joined", "Joined"),
                    ("changed_role", "Changed Role"),
                    ("removed", "Removed"),
                    ("left", "Left"),
                    ("issued", "Issued"),
                    ("revoked", "Revoked"),
                    ("corrected_session", "Corrected Session"),
                ],
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            "CellSession",
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
                ("n", models.PositiveIntegerField()),
                ("mean", models.FloatField()),
                ("m2", models.FloatField()),
                ("minimum", models.FloatField()),
                ("maximum", models.FloatField()),
                ("rho", models.FloatField(null=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
                (
                    "cell",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="benchmarks.cell",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.session",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cell", "session"),
                        nulls_distinct=False,
                        name="cell_has_a_session_once",
                    )
                ]
            },
        ),
    ]
