"""The words of the field: study, slot, version, audit log.

Everything is renamed in place: no row is copied and no index is built anew, however
large a table is. Constraints and indexes keep what they hold; what the models call
otherwise gets its new name.
"""

from django.db import migrations, models
from django.db.models import Q

RENAMED = {
    "corun_name_is_unique_in_a_campaign": "corun_name_is_unique_in_a_study",
    "session_name_is_unique_in_a_campaign": "session_name_is_unique_in_a_study",
    "campaign_slug_is_unique_in_a_lab": "study_slug_is_unique_in_a_lab",
    "campaign_is_frozen_once_at_a_time": "version_is_published_once_at_a_time",
    "seat_has_one_part_in_a_step": "slot_has_one_part_in_a_step",
    "seat_is_there_once_in_a_plan": "slot_is_there_once_in_a_plan",
    "guest_has_one_seat_of_a_system": "guest_has_one_slot_of_a_system",
    "snapshot_number_is_unique": "version_number_is_unique",
    "snapshot_has_each_form_once": "version_has_each_form_once",
    "lab_signs_a_snapshot_once": "lab_signs_a_version_once",
}
TRIGGER = """
ALTER TRIGGER snapshot_files_are_frozen ON benchmarks_versionfile
    RENAME TO version_files_are_frozen;
ALTER TABLE benchmarks_version RENAME CONSTRAINT
    snapshot_is_withdrawn_with_a_reason TO version_is_withdrawn_with_a_reason;
CREATE OR REPLACE FUNCTION refuse_change_of_frozen_file() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The files of a version never change: withdraw it instead.';
END $$;
"""


def in_words_of_the_model(model, name, constraint=None):
    """Return what a constraint is in the models' words; the database keeps it."""
    return [
        migrations.RemoveConstraint(model, name),
        migrations.AddConstraint(model, constraint),
    ]


def unique(name, *fields, **more):
    return models.UniqueConstraint(fields=fields, name=name, **more)


STATE = [
    *in_words_of_the_model(
        "cell",
        "cell_is_summarised_once",
        unique(
            "cell_is_summarised_once",
            *("study", "system", "case", "scenario", "vms", "slot", "load"),
            nulls_distinct=False,
        ),
    ),
    *in_words_of_the_model(
        "corun",
        "corun_name_is_unique_in_a_campaign",
        unique("corun_name_is_unique_in_a_study", "study", "name"),
    ),
    *in_words_of_the_model(
        "session",
        "session_name_is_unique_in_a_campaign",
        unique("session_name_is_unique_in_a_study", "study", "name"),
    ),
    *in_words_of_the_model(
        "flag",
        "finding_is_flagged_once",
        unique("finding_is_flagged_once", "study", "fingerprint"),
    ),
    *in_words_of_the_model(
        "report",
        "report_is_made_once",
        unique("report_is_made_once", "study", "stamp"),
    ),
    *in_words_of_the_model(
        "study",
        "campaign_slug_is_unique_in_a_lab",
        unique("study_slug_is_unique_in_a_lab", "lab", "slug"),
    ),
    *in_words_of_the_model(
        "publishingjob",
        "campaign_is_frozen_once_at_a_time",
        unique(
            "version_is_published_once_at_a_time",
            "study",
            condition=Q(stage__in=["waiting", "collecting", "typesetting"]),
        ),
    ),
    *in_words_of_the_model(
        "planpart",
        "seat_has_one_part_in_a_step",
        unique("slot_has_one_part_in_a_step", "step", "slot"),
    ),
    *in_words_of_the_model(
        "planslot",
        "seat_is_there_once_in_a_plan",
        unique("slot_is_there_once_in_a_plan", "plan", "system", "number"),
    ),
    *in_words_of_the_model(
        "planslot",
        "guest_has_one_seat_of_a_system",
        unique(
            "guest_has_one_slot_of_a_system",
            *("plan", "system", "name"),
            condition=~Q(name=""),
        ),
    ),
    *in_words_of_the_model(
        "version",
        "snapshot_number_is_unique",
        unique("version_number_is_unique", "study", "number"),
    ),
    *in_words_of_the_model(
        "version",
        "snapshot_is_withdrawn_with_a_reason",
        models.CheckConstraint(
            condition=Q(withdrawn_at=None) | ~Q(withdrawn_reason=""),
            name="version_is_withdrawn_with_a_reason",
        ),
    ),
    *in_words_of_the_model(
        "versionfile",
        "snapshot_has_each_form_once",
        unique("version_has_each_form_once", "version", "form"),
    ),
    *in_words_of_the_model(
        "signature",
        "lab_signs_a_snapshot_once",
        unique("lab_signs_a_version_once", "version", "lab"),
    ),
    migrations.RemoveIndex("run", "run_by_cell_key"),
    migrations.AddIndex(
        "run",
        models.Index(fields=["study", "system", "scenario"], name="run_by_cell_key"),
    ),
]
OF_A_STUDY = (
    *("cell", "corun", "duecheck", "flag", "plan", "publishingjob", "report"),
    *("reread", "run", "session", "version"),
)


def related_names():
    """Return the names by which the renamed are found from the other side."""
    cascade, protect = models.CASCADE, models.PROTECT
    names = {
        ("study", "lab"): ("lab", cascade, "studies", {}),
        ("auditentry", "lab"): ("lab", cascade, "audit_entries", {}),
        ("version", "lab"): ("lab", protect, "versions", {}),
        ("version", "study"): ("study", protect, "versions", {}),
        ("planslot", "plan"): ("plan", cascade, "slots", {}),
        ("publishingjob", "study"): (
            *("study", cascade, "publishing_jobs"),
            {"db_constraint": False},
        ),
    }
    for (model, field), (to, on_delete, name, more) in names.items():
        related = models.ForeignKey(
            f"benchmarks.{to}", on_delete, related_name=name, **more
        )
        yield migrations.AlterField(model, field, related)
    made = models.OneToOneField(
        "benchmarks.version",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="publishing",
    )
    yield migrations.AlterField("publishingjob", "version", made)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0018_reasons_keep_their_parts")]
    operations = [
        migrations.RenameModel("Campaign", "Study"),
        migrations.RenameModel("PlanSeat", "PlanSlot"),
        migrations.RenameModel("Snapshot", "Version"),
        migrations.RenameModel("SnapshotFile", "VersionFile"),
        migrations.RenameModel("Freezing", "PublishingJob"),
        migrations.RenameModel("Deed", "AuditEntry"),
        migrations.RenameField("version", "version", "product_version"),
        migrations.RenameField("publishingjob", "version", "data_version"),
        *(migrations.RenameField(each, "campaign", "study") for each in OF_A_STUDY),
        migrations.RenameField("publishingjob", "snapshot", "version"),
        migrations.RenameField("versionfile", "snapshot", "version"),
        migrations.RenameField("signature", "snapshot", "version"),
        migrations.RenameField("cell", "seat", "slot"),
        migrations.RenameField("run", "seat", "slot"),
        migrations.RenameField("planpart", "seat", "slot"),
        migrations.RenameField("study", "band_percent", "equivalence_margin_percent"),
        migrations.AlterField("flag", "severity", models.CharField(max_length=12)),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    [
                        f"ALTER INDEX {old} RENAME TO {new}"
                        for old, new in RENAMED.items()
                    ]
                )
            ],
            state_operations=STATE,
        ),
        migrations.RunSQL(TRIGGER),
        *related_names(),
    ]
