"""A campaign that is to be frozen is a row: work left to do, which no crash forgets."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import benchmarks.models.sentence

STAGES = [
    ("waiting", "Waiting"),
    ("collecting", "Collecting"),
    ("typesetting", "Typesetting"),
    ("done", "Done"),
    ("failed", "Failed"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0016_reports_wait_for_no_campaign"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Freezing",
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
                ("site", models.CharField(max_length=300)),
                (
                    "licence",
                    models.CharField(
                        choices=[("free", "Free"), ("permitted", "Permitted")],
                        max_length=10,
                    ),
                ),
                ("licence_note", models.TextField(blank=True)),
                ("version", models.TextField()),
                (
                    "stage",
                    models.CharField(choices=STAGES, default="waiting", max_length=20),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "problem",
                    benchmarks.models.sentence.SentenceField(blank=True),
                ),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "campaign",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="freezings",
                        to="benchmarks.campaign",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "snapshot",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="freezing",
                        to="benchmarks.snapshot",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("stage__in", ["waiting", "collecting", "typesetting"])
                        ),
                        fields=("campaign",),
                        name="campaign_is_frozen_once_at_a_time",
                    )
                ],
            },
        ),
    ]
