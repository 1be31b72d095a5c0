"""All tables. There has been no release: until then, model changes edit this file.

To regenerate: delete the operations, run `make migration name=initial`, then append the
two operations of `_triggers` again.
"""

import benchmarks.models.sentence
import benchmarks.models.study
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from benchmarks.migrations import _triggers


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
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
                ("name", models.SlugField(max_length=100)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Case",
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
                ("tool", models.CharField(db_index=True, max_length=101)),
                ("metric", models.CharField(max_length=100)),
                ("parameters", models.JSONField(default=dict)),
                ("unit", models.CharField(blank=True, max_length=20)),
                ("better", models.CharField(max_length=10)),
                ("component", models.CharField(db_index=True, max_length=20)),
                ("label", models.CharField(max_length=300)),
                ("fingerprint", models.CharField(max_length=64, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="Cell",
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
                ("scenario", models.CharField(max_length=50)),
                ("vms", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("slot", models.CharField(blank=True, max_length=20)),
                ("load", models.CharField(blank=True, max_length=200)),
                ("n", models.PositiveIntegerField(default=0)),
                ("mean", models.FloatField(null=True)),
                ("m2", models.FloatField(null=True)),
                ("minimum", models.FloatField(null=True)),
                ("maximum", models.FloatField(null=True)),
                ("median", models.FloatField(null=True)),
                ("q1", models.FloatField(null=True)),
                ("q3", models.FloatField(null=True)),
                ("sample_count", models.PositiveIntegerField(default=0)),
                ("decimals", models.PositiveSmallIntegerField(null=True)),
                ("setting", models.JSONField(default=dict)),
                ("shape", models.JSONField(null=True)),
                ("shape_codes", models.CharField(blank=True, max_length=100)),
                ("shape_moves", models.FloatField(null=True)),
                ("shaped_at", models.DateTimeField(null=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
                ("clock", models.CharField(blank=True, max_length=50)),
                ("clock_trust", models.CharField(blank=True, max_length=10)),
                ("document", models.TextField(blank=True)),
                ("table", models.TextField(blank=True)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cells",
                        to="benchmarks.case",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Host",
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
                ("slug", models.SlugField(max_length=100)),
                ("title", models.CharField(blank=True, max_length=300)),
                ("facts", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Lab",
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
                ("slug", models.SlugField(unique=True)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("needs_second_factor", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="Run",
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
                ("key", models.UUIDField()),
                ("digest", models.CharField(max_length=64)),
                ("part", models.PositiveSmallIntegerField(default=1)),
                ("tool", models.CharField(blank=True, max_length=101)),
                ("tool_version", models.CharField(blank=True, max_length=100)),
                (
                    "parser_version",
                    models.PositiveSmallIntegerField(blank=True, null=True),
                ),
                (
                    "declared_version",
                    models.PositiveSmallIntegerField(blank=True, null=True),
                ),
                ("scenario", models.CharField(max_length=50)),
                ("vms", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("slot", models.CharField(blank=True, max_length=20)),
                ("load", models.CharField(blank=True, max_length=200)),
                ("clock", models.CharField(blank=True, max_length=20)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                (
                    "received_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("document", models.CharField(blank=True, max_length=300)),
                ("table", models.CharField(blank=True, max_length=300)),
                ("note", models.TextField(blank=True)),
                ("facts", models.JSONField(blank=True, default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("parsed", "Parsed"),
                            ("rejected", "Rejected"),
                            ("quarantined", "Quarantined"),
                        ],
                        default="received",
                        max_length=20,
                    ),
                ),
                ("reason", benchmarks.models.sentence.SentenceField(blank=True)),
                ("warnings", models.JSONField(blank=True, default=list)),
                ("first_line", models.PositiveIntegerField(blank=True, null=True)),
                ("last_line", models.PositiveIntegerField(blank=True, null=True)),
                ("sample_count", models.PositiveIntegerField(default=0)),
                ("derived_count", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Study",
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
                ("slug", models.SlugField(max_length=100)),
                ("title", models.CharField(max_length=300)),
                ("author", models.CharField(blank=True, max_length=200)),
                ("institution", models.CharField(blank=True, max_length=300)),
                ("published", models.CharField(blank=True, max_length=20)),
                ("language", models.CharField(blank=True, max_length=10)),
                ("note", models.TextField(blank=True)),
                ("factors", models.JSONField(blank=True, default=dict)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("private", "Private"),
                            ("shared", "Shared"),
                            ("public", "Public"),
                        ],
                        default="private",
                        max_length=20,
                    ),
                ),
                ("data_licence", models.CharField(blank=True, max_length=100)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("equivalence_margin_percent", models.FloatField(default=2.0)),
                ("baseline_max_age_days", models.PositiveIntegerField(default=30)),
                (
                    "efficiency_rules",
                    models.PositiveSmallIntegerField(
                        default=benchmarks.models.study.efficiency_rules
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="studies",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "shared_with",
                    models.ManyToManyField(
                        blank=True, related_name="+", to="benchmarks.lab"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Job",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("upload", "Upload"),
                            ("check", "Check"),
                            ("energy", "Energy"),
                            ("plan", "Plan"),
                            ("publishing", "Publishing"),
                            ("review", "Review"),
                            ("report", "Report"),
                            ("picture", "Picture"),
                            ("news", "News"),
                            ("webhook", "Webhook"),
                            ("letter", "Letter"),
                        ],
                        max_length=20,
                    ),
                ),
                ("subject_id", models.BigIntegerField()),
                ("partition", models.BigIntegerField()),
                ("detail", models.JSONField(null=True)),
                ("is_read", models.BooleanField(db_default=False, default=False)),
                ("is_bulk", models.BooleanField(db_default=False, default=False)),
                ("samples", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "request_id",
                    models.CharField(blank=True, db_default="", max_length=64),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tried_at", models.DateTimeField(null=True)),
                ("hinted_at", models.DateTimeField(null=True)),
                ("batch", models.UUIDField(null=True)),
                ("batch_size", models.PositiveIntegerField(db_default=0, default=0)),
                ("server_started_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveSmallIntegerField(db_default=0, default=0)),
                (
                    "error",
                    benchmarks.models.sentence.SentenceField(blank=True, db_default=""),
                ),
                ("quarantined_at", models.DateTimeField(null=True)),
                ("version", models.CharField(blank=True, db_default="", max_length=50)),
                (
                    "lab",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["kind", "due_at"], name="jobs_that_are_due"),
                    models.Index(
                        condition=models.Q(("kind", "upload"), _negated=True),
                        fields=["kind", "subject_id"],
                        name="job_by_subject",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "upload")),
                        fields=("subject_id",),
                        name="upload_is_processed_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
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
                ("who", models.CharField(max_length=150)),
                ("text", models.TextField(blank=True)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("edited_at", models.DateTimeField(blank=True, null=True)),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
                ("removed_by", models.CharField(blank=True, max_length=150)),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="benchmarks.agent",
                    ),
                ),
                (
                    "cell",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="comments",
                        to="benchmarks.cell",
                    ),
                ),
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
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Digest",
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
                (
                    "every",
                    models.CharField(
                        choices=[("day", "Day"), ("week", "Week")], max_length=10
                    ),
                ),
                ("labs", models.BooleanField(default=True)),
                ("due_at", models.DateTimeField(db_index=True)),
                ("told_until", models.BigIntegerField(default=0)),
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="digest",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FeedToken",
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
                ("prefix", models.CharField(max_length=16, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Flag",
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
                ("rule", models.SlugField()),
                ("severity", models.CharField(max_length=12)),
                ("sentence", benchmarks.models.sentence.SentenceField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("evidence", models.JSONField(default=dict)),
                ("subjects", models.JSONField(default=list)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("confirmed", "Confirmed"),
                            ("dismissed", "Dismissed"),
                        ],
                        db_index=True,
                        default="open",
                        max_length=10,
                    ),
                ),
                ("found_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("gone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cells",
                    models.ManyToManyField(related_name="flags", to="benchmarks.cell"),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Decision",
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
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("confirmed", "Confirmed"),
                            ("dismissed", "Dismissed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("note", models.TextField()),
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
                    "flag",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="benchmarks.flag",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
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
                ("name", models.CharField(max_length=200)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("maintainer", "Maintainer"),
                            ("admin", "Admin"),
                        ],
                        max_length=20,
                    ),
                ),
                ("prefix", models.CharField(max_length=16, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "invited_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="host",
            name="lab",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="hosts",
                to="benchmarks.lab",
            ),
        ),
        migrations.CreateModel(
            name="Event",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("runs", "Runs"),
                            ("flags", "Flags"),
                            ("verdicts", "Verdicts"),
                            ("published", "Published"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        max_length=12,
                    ),
                ),
                ("sentence", benchmarks.models.sentence.SentenceField()),
                ("content", models.JSONField(default=dict)),
                (
                    "at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now
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
                    "quotes",
                    models.ManyToManyField(related_name="+", to="benchmarks.study"),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EarlierText",
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
                ("text", models.TextField()),
                ("written_at", models.DateTimeField()),
                (
                    "replaced_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("replaced_by", models.CharField(max_length=150)),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="earlier_texts",
                        to="benchmarks.comment",
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
            ],
        ),
        migrations.CreateModel(
            name="CoRun",
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
                ("name", models.CharField(max_length=200)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="coruns",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="cell",
            name="lab",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="benchmarks.lab",
            ),
        ),
        migrations.CreateModel(
            name="AuditEntry",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("made_lab", "Made Lab"),
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
                            ("changed_visibility", "Changed Visibility"),
                            ("published", "Published"),
                            ("signed", "Signed"),
                            ("withdrew_published", "Withdrew Published"),
                            ("deleted_study", "Deleted Study"),
                            ("deleted_runs", "Deleted Runs"),
                            ("deleted_account", "Deleted Account"),
                            ("imported", "Imported"),
                            ("made_webhook", "Made Webhook"),
                            ("deleted_webhook", "Deleted Webhook"),
                            ("changed_webhook", "Changed Webhook"),
                            ("linked_sign_in", "Linked Sign In"),
                            ("unlinked_sign_in", "Unlinked Sign In"),
                            ("set_factor", "Set Factor"),
                            ("removed_factor", "Removed Factor"),
                            ("reset_factor", "Reset Factor"),
                            ("used_recovery_code", "Used Recovery Code"),
                            ("changed_sign_in", "Changed Sign In"),
                            ("reset_password", "Reset Password"),
                            ("set_doi", "Set Doi"),
                        ],
                        max_length=20,
                    ),
                ),
                ("who", models.CharField(max_length=150)),
                ("about", models.CharField(max_length=300)),
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
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="audit_entries",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="agent",
            name="lab",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="agents",
                to="benchmarks.lab",
            ),
        ),
        migrations.CreateModel(
            name="Letter",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("invitation", "Invitation"),
                            ("new_password", "New Password"),
                            ("address", "Address"),
                            ("digest", "Digest"),
                        ],
                        max_length=20,
                    ),
                ),
                ("address", models.CharField(max_length=254)),
                ("sealed", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("problem", models.CharField(blank=True, max_length=300)),
                (
                    "invitation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.invitation",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
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
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("maintainer", "Maintainer"),
                            ("admin", "Admin"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Meter",
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
                ("name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("watts-up", "Watts up?"),
                            ("ipmi-dcmi", "IPMI DCMI"),
                            ("rapl", "RAPL"),
                            ("csv", "CSV"),
                        ],
                        max_length=20,
                    ),
                ),
                ("gain_error", models.FloatField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="meters",
                        to="benchmarks.host",
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
            ],
        ),
        migrations.CreateModel(
            name="RunWindow",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="window",
                        serialize=False,
                        to="benchmarks.run",
                    ),
                ),
                ("begin_at", models.DateTimeField(null=True)),
                ("end_at", models.DateTimeField(null=True)),
                ("is_external", models.BooleanField(default=False)),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="agent",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="benchmarks.agent",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="corun",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="benchmarks.corun",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="duplicate_of",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="duplicates",
                to="benchmarks.run",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="lab",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="benchmarks.lab",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="source",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="others",
                to="benchmarks.run",
            ),
        ),
        migrations.AddField(
            model_name="flag",
            name="runs",
            field=models.ManyToManyField(related_name="flags", to="benchmarks.run"),
        ),
        migrations.AddField(
            model_name="comment",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="comments",
                to="benchmarks.run",
            ),
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
        migrations.CreateModel(
            name="Picture",
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
                    "stage",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("collecting", "Collecting"),
                            ("typesetting", "Typesetting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                (
                    "requested_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("stamp", models.CharField(max_length=64)),
                ("form", models.CharField(max_length=10)),
                ("drawn", models.JSONField()),
                ("content", models.BinaryField(default=b"")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("stamp",), name="picture_is_drawn_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Plan",
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
                ("title", models.CharField(max_length=200)),
                ("design", models.JSONField()),
                ("seed", models.PositiveBigIntegerField()),
                ("budget_s", models.PositiveIntegerField()),
                ("barrier_s", models.PositiveIntegerField(default=60)),
                ("join_s", models.PositiveIntegerField(default=600)),
                ("most_attempts", models.PositiveSmallIntegerField(default=3)),
                ("width_percent", models.FloatField(null=True)),
                ("most_repetitions", models.PositiveSmallIntegerField(null=True)),
                ("who", models.CharField(max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                        ],
                        default="open",
                        max_length=20,
                    ),
                ),
                ("advice", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plans",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plans",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PlanSlot",
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
                ("name", models.CharField(blank=True, max_length=100)),
                ("instance", models.CharField(blank=True, max_length=64)),
                ("joined_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="benchmarks.agent",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="benchmarks.plan",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PlanStep",
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
                ("tool", models.SlugField()),
                ("program", models.CharField(max_length=100)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("clock", models.CharField(blank=True, max_length=64)),
                ("position", models.PositiveIntegerField()),
                ("repetition", models.IntegerField()),
                ("treatment", models.PositiveIntegerField()),
                ("scenario", models.CharField(max_length=50)),
                ("vms", models.PositiveSmallIntegerField()),
                ("load", models.CharField(blank=True, max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("gathering", "Gathering"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("not done", "Not Done"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("reason", benchmarks.models.sentence.SentenceField(blank=True)),
                ("deadline", models.DateTimeField(null=True)),
                ("starts_at_us", models.BigIntegerField(null=True)),
                ("sequence", models.PositiveIntegerField(null=True)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("spread_us", models.BigIntegerField(null=True)),
                ("overlap", models.FloatField(null=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="benchmarks.plan",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PlanPart",
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
                ("tool", models.SlugField()),
                ("program", models.CharField(max_length=100)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("clock", models.CharField(blank=True, max_length=64)),
                ("role", models.CharField(max_length=20)),
                ("options", models.JSONField(default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("called", "Called"),
                            ("arrived", "Arrived"),
                            ("started", "Started"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("limit_s", models.FloatField(null=True)),
                ("arrived_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("began_us", models.BigIntegerField(null=True)),
                ("ended_us", models.BigIntegerField(null=True)),
                ("bound_us", models.PositiveBigIntegerField(null=True)),
                ("rounds", models.PositiveIntegerField(null=True)),
                ("keys", models.JSONField(default=list)),
                (
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="benchmarks.planslot",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="benchmarks.planstep",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PowerChunk",
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
                ("key", models.UUIDField()),
                ("digest", models.CharField(max_length=64)),
                ("log", models.UUIDField(db_index=True)),
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("stamps", models.JSONField(default=list)),
                ("sample_count", models.PositiveIntegerField()),
                ("first_at", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
                (
                    "received_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmarks.agent",
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
                    "meter",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="benchmarks.meter",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicEvidence",
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
                ("hypervisor", models.CharField(max_length=100)),
                ("work", models.CharField(max_length=50)),
                ("without", models.JSONField(default=dict)),
                ("with_flagged", models.JSONField(default=dict)),
            ],
            options={
                "verbose_name_plural": "public evidence",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("hypervisor", "work"), name="question_is_answered_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
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
                    "stage",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("collecting", "Collecting"),
                            ("typesetting", "Typesetting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                (
                    "requested_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("title", models.CharField(max_length=300)),
                ("authors", models.CharField(max_length=500)),
                ("note", models.TextField(blank=True)),
                ("published_by", models.CharField(max_length=150)),
                ("product_version", models.CharField(max_length=50)),
                ("rule_set", models.PositiveSmallIntegerField()),
                ("content", models.JSONField()),
                ("stamp", models.CharField(max_length=64)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
                ("withdrawn_reason", models.TextField(blank=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReviewFile",
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
                ("name", models.CharField(max_length=200)),
                ("content", models.BinaryField()),
                ("size", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="benchmarks.review",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RunEnergy",
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
                ("together", models.PositiveSmallIntegerField(default=1)),
                ("is_external", models.BooleanField(default=False)),
                ("duration_s", models.FloatField()),
                ("covered_s", models.FloatField(default=0.0)),
                ("mean_w", models.FloatField(null=True)),
                ("idle_w", models.FloatField(null=True)),
                ("samples", models.PositiveIntegerField(default=0)),
                ("interval_s", models.FloatField(null=True)),
                ("edge_error_j", models.FloatField(null=True)),
                ("clock_error_s", models.FloatField(null=True)),
                ("operations", models.FloatField(null=True)),
                ("reason", benchmarks.models.sentence.SentenceField(blank=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "lead",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.run",
                    ),
                ),
                (
                    "meter",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="energies",
                        to="benchmarks.meter",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="energies",
                        to="benchmarks.run",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "run energies",
            },
        ),
        migrations.CreateModel(
            name="RunMean",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "lab_id",
                        "run_id",
                        "case_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("n", models.PositiveIntegerField()),
                ("mean", models.FloatField()),
                ("decimals", models.PositiveSmallIntegerField()),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmarks.case",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="means",
                        to="benchmarks.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RunOutput",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "lab_id",
                        "run_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("text", models.TextField()),
                (
                    "lab",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outputs",
                        to="benchmarks.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "lab_id",
                        "run_id",
                        "sequence",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sequence", models.PositiveIntegerField()),
                ("repetition", models.PositiveIntegerField(default=1)),
                ("value", models.FloatField()),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmarks.case",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="benchmarks.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
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
                ("who", models.CharField(max_length=150)),
                ("name", models.CharField(max_length=100)),
                ("address", models.CharField(max_length=4000)),
                ("saved_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "lab",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Session",
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
                ("name", models.CharField(max_length=200)),
                (
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
                ("reason", benchmarks.models.sentence.SentenceField(blank=True)),
                (
                    "host",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="benchmarks.host",
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
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="session",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="benchmarks.session",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="sitting",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="sitting_runs",
                to="benchmarks.session",
            ),
        ),
        migrations.CreateModel(
            name="CellSession",
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
                ("n", models.PositiveIntegerField()),
                ("mean", models.FloatField()),
                ("m2", models.FloatField()),
                ("minimum", models.FloatField()),
                ("maximum", models.FloatField()),
                ("rho", models.FloatField(null=True)),
                ("first", models.FloatField(null=True)),
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
        ),
        migrations.AddField(
            model_name="cell",
            name="session",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="benchmarks.session",
            ),
        ),
        migrations.CreateModel(
            name="StudyRollup",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="benchmarks.study",
                    ),
                ),
                ("version", models.TextField()),
                ("leant_on", models.JSONField()),
                ("counts", models.JSONField()),
                ("bins", models.JSONField()),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="benchmarks.study",
            ),
        ),
        migrations.CreateModel(
            name="ReviewedStudy",
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
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reviewed",
                        to="benchmarks.review",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="review",
            name="studies",
            field=models.ManyToManyField(
                related_name="reviews",
                through="benchmarks.ReviewedStudy",
                to="benchmarks.study",
            ),
        ),
        migrations.CreateModel(
            name="Reread",
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
                ("tool", models.CharField(blank=True, max_length=101)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("cursor", models.PositiveBigIntegerField(default=0)),
                ("changed", models.PositiveIntegerField(default=0)),
                ("vanished", models.PositiveIntegerField(default=0)),
                ("appeared", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("changes", models.JSONField(default=list)),
                ("failures", models.JSONField(default=list)),
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
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rereads",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Report",
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
                    "stage",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("collecting", "Collecting"),
                            ("typesetting", "Typesetting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                (
                    "requested_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("stamp", models.CharField(max_length=64)),
                ("content", models.BinaryField(default=b"")),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reports",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Follow",
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
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="flag",
            name="quotes",
            field=models.ManyToManyField(related_name="+", to="benchmarks.study"),
        ),
        migrations.AddField(
            model_name="flag",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="flags",
                to="benchmarks.study",
            ),
        ),
        migrations.AddField(
            model_name="comment",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comments",
                to="benchmarks.study",
            ),
        ),
        migrations.AddField(
            model_name="cell",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="cells",
                to="benchmarks.study",
            ),
        ),
        migrations.CreateModel(
            name="StudyNews",
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
                ("runs", models.PositiveIntegerField(default=0)),
                ("flags", models.JSONField(default=list)),
                ("verdicts", models.JSONField(default=dict)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="System",
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
                ("hypervisor", models.CharField(max_length=100)),
                ("hypervisor_version", models.CharField(blank=True, max_length=100)),
                ("virtualization", models.CharField(blank=True, max_length=50)),
                ("guest_os", models.CharField(blank=True, max_length=200)),
                ("guest_bits", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("vcpus", models.PositiveIntegerField(blank=True, null=True)),
                ("memory_bytes", models.PositiveBigIntegerField(blank=True, null=True)),
                ("options", models.JSONField(blank=True, default=dict)),
                ("fingerprint", models.CharField(max_length=64)),
                ("is_emulated", models.BooleanField(default=False)),
                ("is_above_hypervisor", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="systems",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="systems",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="study",
            name="reference_system",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="benchmarks.system",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="system",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="benchmarks.system",
            ),
        ),
        migrations.AddField(
            model_name="planstep",
            name="system",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="benchmarks.system",
            ),
        ),
        migrations.AddField(
            model_name="planslot",
            name="system",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="benchmarks.system",
            ),
        ),
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
                ("work", models.CharField(blank=True, max_length=50)),
                ("cells", models.PositiveIntegerField()),
                ("ratios", models.PositiveIntegerField()),
                ("low", models.FloatField(default=0.0)),
                ("high", models.FloatField(default=0.0)),
                ("total", models.FloatField(default=0.0)),
                ("fewest", models.PositiveIntegerField(default=0)),
                ("most", models.PositiveIntegerField(default=0)),
                ("flagged", models.PositiveIntegerField(default=0)),
                ("impossible", models.PositiveIntegerField(default=0)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.system",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "effect summaries",
            },
        ),
        migrations.AddField(
            model_name="cell",
            name="system",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="cells",
                to="benchmarks.system",
            ),
        ),
        migrations.CreateModel(
            name="Token",
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
                ("prefix", models.CharField(max_length=16, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("can_upload", models.BooleanField(default=False)),
                ("can_read", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="benchmarks.agent",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="benchmarks.lab",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Version",
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
                ("number", models.PositiveIntegerField()),
                ("title", models.CharField(max_length=300)),
                (
                    "published_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("published_by", models.CharField(max_length=150)),
                ("product_version", models.CharField(max_length=50)),
                ("rule_set", models.PositiveSmallIntegerField()),
                ("judged", models.CharField(max_length=10)),
                ("undisclosed", models.JSONField(default=dict)),
                ("declarations", models.JSONField(default=list)),
                (
                    "licence",
                    models.CharField(
                        choices=[("free", "Free"), ("permitted", "Permitted")],
                        max_length=10,
                    ),
                ),
                ("licence_note", models.TextField(blank=True)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("doi", models.CharField(blank=True, max_length=200)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
                ("withdrawn_reason", models.TextField(blank=True)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="benchmarks.lab",
                    ),
                ),
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
                    "quotes",
                    models.ManyToManyField(related_name="+", to="benchmarks.study"),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Signature",
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
                ("who", models.CharField(max_length=150)),
                ("note", models.TextField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="signatures",
                        to="benchmarks.lab",
                    ),
                ),
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
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="signatures",
                        to="benchmarks.version",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="reviewedstudy",
            name="version",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="benchmarks.version",
            ),
        ),
        migrations.CreateModel(
            name="PublishingJob",
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
                    "stage",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("collecting", "Collecting"),
                            ("typesetting", "Typesetting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                (
                    "requested_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "licence",
                    models.CharField(
                        choices=[("free", "Free"), ("permitted", "Permitted")],
                        max_length=10,
                    ),
                ),
                ("licence_note", models.TextField(blank=True)),
                ("data_version", models.TextField()),
                ("problem", benchmarks.models.sentence.SentenceField(blank=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="publishing_jobs",
                        to="benchmarks.study",
                    ),
                ),
                (
                    "version",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="publishing",
                        to="benchmarks.version",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="VersionFile",
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
                ("name", models.CharField(db_column="form", max_length=10)),
                ("content", models.BinaryField()),
                ("size", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="benchmarks.version",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Webhook",
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
                ("url", models.CharField(max_length=1000)),
                ("kinds", models.JSONField(default=list)),
                ("salt", models.CharField(max_length=32)),
                ("site", models.CharField(max_length=300)),
                ("made_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "lab",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="benchmarks.lab",
                    ),
                ),
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
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
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
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("next_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tried_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("took_ms", models.PositiveIntegerField(null=True)),
                (
                    "event",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.event",
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
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="benchmarks.webhook",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Effect",
            fields=[
                (
                    "cell",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="effect",
                        serialize=False,
                        to="benchmarks.cell",
                    ),
                ),
                ("hypervisor", models.CharField(max_length=100)),
                ("virtualization", models.CharField(blank=True, max_length=50)),
                ("work", models.CharField(blank=True, max_length=50)),
                ("log_ratio", models.FloatField(null=True)),
                ("log_low", models.FloatField(null=True)),
                ("log_high", models.FloatField(null=True)),
                ("variance", models.FloatField(null=True)),
                ("n", models.PositiveIntegerField()),
                ("verdict", models.PositiveSmallIntegerField()),
                (
                    "obstacle",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("no_native", "No Native"),
                            ("relative", "Relative"),
                            ("other_host", "Other Host"),
                            ("other_parameters", "Other Parameters"),
                            ("unit_mismatch", "Unit Mismatch"),
                            ("ambiguous_baseline", "Ambiguous"),
                            ("zero", "Zero"),
                            ("emulation", "Emulation"),
                            ("flagged", "Flagged"),
                            ("clock_suspect", "Clock Suspect"),
                            ("noisy_baseline", "Noisy Baseline"),
                            ("no_steady_state", "No Steady State"),
                            ("single_run", "Single Run"),
                            ("no_spread", "No Spread"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.case",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "lab",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.lab",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="effects",
                        to="benchmarks.study",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="benchmarks.system",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Efficiency",
            fields=[
                (
                    "cell",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="efficiency",
                        serialize=False,
                        to="benchmarks.cell",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("native", "Native"),
                            ("paired", "Paired"),
                            ("other_session", "Other Session"),
                            ("stale", "Stale"),
                            ("ambiguous", "Ambiguous"),
                            ("missing", "Missing"),
                            ("relative", "Relative"),
                            ("reference", "Reference"),
                            ("undirected", "Undirected"),
                            ("scaling", "Scaling"),
                            ("other_parameters", "Other Parameters"),
                            ("unit_mismatch", "Unit Mismatch"),
                            ("other_host", "Other Host"),
                            ("slowdown", "Slowdown"),
                            ("no_speed", "No Speed"),
                        ],
                        max_length=20,
                    ),
                ),
                ("ratio", models.FloatField(null=True)),
                ("baseline_mean", models.FloatField(null=True)),
                ("baseline_n", models.PositiveIntegerField(null=True)),
                ("reason", benchmarks.models.sentence.SentenceField(blank=True)),
                (
                    "baseline",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
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
            ],
            options={
                "verbose_name_plural": "efficiencies",
            },
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(
                fields=("lab", "slug"), name="host_slug_is_unique_in_a_lab"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                fields=("lab", "name"), name="agent_name_is_unique_in_a_lab"
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("lab", "user"), name="person_has_one_role_in_a_lab"
            ),
        ),
        migrations.AddConstraint(
            model_name="meter",
            constraint=models.UniqueConstraint(
                fields=("host", "name"), name="meter_name_is_unique_at_a_host"
            ),
        ),
        migrations.AddField(
            model_name="runwindow",
            name="host",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="benchmarks.host",
            ),
        ),
        migrations.AddField(
            model_name="runwindow",
            name="lab",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="benchmarks.lab",
            ),
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
        migrations.AddConstraint(
            model_name="planpart",
            constraint=models.UniqueConstraint(
                fields=("step", "slot"), name="slot_has_one_part_in_a_step"
            ),
        ),
        migrations.AddIndex(
            model_name="powerchunk",
            index=models.Index(
                fields=["meter", "first_at"], name="power_chunk_by_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="powerchunk",
            constraint=models.UniqueConstraint(
                fields=("lab", "agent", "key"), name="power_chunk_is_uploaded_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewfile",
            constraint=models.UniqueConstraint(
                fields=("review", "name"), name="review_has_each_file_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="runenergy",
            constraint=models.UniqueConstraint(
                fields=("run", "meter"), name="run_has_one_energy_of_a_meter"
            ),
        ),
        migrations.AddIndex(
            model_name="savedview",
            index=models.Index(
                condition=models.Q(("lab", None)),
                fields=["person"],
                name="own_views_of_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="cellsession",
            constraint=models.UniqueConstraint(
                fields=("cell", "session"),
                name="cell_has_a_session_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                fields=("study", "name"), name="session_name_is_unique_in_a_study"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(
                condition=models.Q(("withdrawn_at", None)),
                fields=("lab", "stamp"),
                name="review_is_published_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("withdrawn_at", None),
                    models.Q(("withdrawn_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="review_is_withdrawn_with_a_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="reread",
            index=models.Index(
                condition=models.Q(("finished_at", None)),
                fields=["id"],
                name="reread_unfinished",
            ),
        ),
        migrations.AddConstraint(
            model_name="report",
            constraint=models.UniqueConstraint(
                fields=("study", "stamp"), name="report_is_made_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="follow",
            constraint=models.UniqueConstraint(
                fields=("person", "study"), name="study_is_followed_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.UniqueConstraint(
                fields=("study", "fingerprint"), name="finding_is_flagged_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="corun",
            constraint=models.UniqueConstraint(
                fields=("study", "name"), name="corun_name_is_unique_in_a_study"
            ),
        ),
        migrations.AddConstraint(
            model_name="comment",
            constraint=models.CheckConstraint(
                condition=models.Q(("cell", None), ("run", None), _connector="OR"),
                name="comment_is_about_one_thing",
            ),
        ),
        migrations.AddConstraint(
            model_name="system",
            constraint=models.UniqueConstraint(
                fields=("lab", "fingerprint"), name="system_is_stored_once_in_a_lab"
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.UniqueConstraint(
                fields=("lab", "slug"), name="study_slug_is_unique_in_a_lab"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["study", "system", "scenario"], name="run_by_cell_key"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["tool"], name="run_by_tool"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status", "parsed"), _negated=True),
                fields=["status"],
                name="run_by_odd_status",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("source__isnull", False)),
                fields=["source"],
                name="run_by_source",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("duplicate_of__isnull", False)),
                fields=["duplicate_of"],
                name="run_by_duplicate_of",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("corun__isnull", False)),
                fields=["corun"],
                name="run_by_corun",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("session__isnull", False)),
                fields=["session"],
                name="run_by_session",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("sitting__isnull", False)),
                fields=["sitting"],
                name="run_by_sitting",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("lab", "agent", "key", "part"), name="run_is_uploaded_once"
            ),
        ),
        migrations.AddIndex(
            model_name="planstep",
            index=models.Index(fields=["plan", "status"], name="step_by_plan_status"),
        ),
        migrations.AddConstraint(
            model_name="planstep",
            constraint=models.UniqueConstraint(
                fields=("plan", "position"), name="step_has_one_place_in_a_plan"
            ),
        ),
        migrations.AddConstraint(
            model_name="planslot",
            constraint=models.UniqueConstraint(
                fields=("plan", "system", "number"), name="slot_is_there_once_in_a_plan"
            ),
        ),
        migrations.AddConstraint(
            model_name="planslot",
            constraint=models.UniqueConstraint(
                condition=models.Q(("name", ""), _negated=True),
                fields=("plan", "system", "name"),
                name="guest_has_one_slot_of_a_system",
            ),
        ),
        migrations.AddConstraint(
            model_name="effectsummary",
            constraint=models.UniqueConstraint(
                fields=("study", "system", "work"), name="effects_are_counted_once"
            ),
        ),
        migrations.AddIndex(
            model_name="cell",
            index=models.Index(fields=["lab", "case"], name="cell_by_lab_and_case"),
        ),
        migrations.AddConstraint(
            model_name="cell",
            constraint=models.UniqueConstraint(
                fields=("study", "system", "case", "scenario", "vms", "slot", "load"),
                name="cell_is_summarised_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="token",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("can_upload", True), ("can_read", True), _connector="OR"
                ),
                name="token_is_good_for_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="version",
            constraint=models.UniqueConstraint(
                fields=("study", "number"), name="version_number_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="version",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("withdrawn_at", None),
                    models.Q(("withdrawn_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="version_is_withdrawn_with_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="signature",
            constraint=models.UniqueConstraint(
                fields=("version", "lab"), name="lab_signs_a_version_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewedstudy",
            constraint=models.UniqueConstraint(
                fields=("review", "study"), name="study_is_reviewed_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="publishingjob",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("stage__in", ["waiting", "collecting", "typesetting"])
                ),
                fields=("study",),
                name="version_is_published_once_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="versionfile",
            constraint=models.UniqueConstraint(
                fields=("version", "name"), name="version_has_each_form_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                fields=("webhook", "event"), name="event_is_delivered_once"
            ),
        ),
        migrations.AddIndex(
            model_name="effect",
            index=models.Index(
                fields=["hypervisor", "work"], name="effect_by_question"
            ),
        ),
        migrations.AddIndex(
            model_name="runwindow",
            index=models.Index(fields=["host", "begin_at"], name="run_window_by_time"),
        ),
        migrations.RunSQL(_triggers.REFUSE_CHANGES),
        migrations.RunPython(_triggers.create_change_counters),
    ]
