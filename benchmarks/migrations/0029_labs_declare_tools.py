"""Labs declare tools of their own; a tool's name may have its lab before it."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0028_sittings_are_derived"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="declared_version",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="kind",
            field=models.CharField(
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
                    ("declared_tool", "Declared Tool"),
                    ("changed_tool", "Changed Tool"),
                    ("retired_tool", "Retired Tool"),
                    ("revived_tool", "Revived Tool"),
                    ("deleted_tool", "Deleted Tool"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="case",
            name="tool",
            field=models.CharField(db_index=True, max_length=101),
        ),
        migrations.AlterField(
            model_name="reread",
            name="tool",
            field=models.CharField(blank=True, max_length=101),
        ),
        migrations.AlterField(
            model_name="run",
            name="tool",
            field=models.CharField(blank=True, db_index=True, max_length=101),
        ),
        migrations.CreateModel(
            name="OwnTool",
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
                ("slug", models.SlugField()),
                ("name", models.CharField(max_length=101, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="own_tools",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OwnToolVersion",
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
                ("number", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=100)),
                ("homepage", models.CharField(blank=True, max_length=300)),
                ("description", models.TextField(blank=True)),
                ("metrics", models.JSONField(default=list)),
                ("who", models.CharField(max_length=150)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="benchmarks.owntool",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="owntool",
            constraint=models.UniqueConstraint(
                fields=("lab", "slug"), name="own_tool_slug_is_unique_in_a_lab"
            ),
        ),
        migrations.AddConstraint(
            model_name="owntoolversion",
            constraint=models.UniqueConstraint(
                fields=("tool", "number"), name="own_tool_version_is_numbered_once"
            ),
        ),
    ]
