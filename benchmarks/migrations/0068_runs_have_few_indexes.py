"""Runs have few indexes, and samples one: each is written with every row."""

from django.db import migrations, models
from django.db.models.deletion import CASCADE, SET_NULL

NEEDLESS = {
    "run": (
        *("corun_id", "duplicate_of_id", "lab_id", "session_id", "sitting_id"),
        *("source_id", "status", "study_id", "tool"),
    ),
    "runmean": ("run_id",),
    "runoutput": ("run_id",),
    "sample": ("run_id",),
}


def drop(apps, editor):
    """Drop indexes by what they are of; foreign keys stay as they are.

    Django would make these anew, and look for each run's study, system and lab again.
    """
    connection = editor.connection
    for name, columns in NEEDLESS.items():
        table = apps.get_model("benchmarks", name)._meta.db_table
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, table)
        for index, what in found.items():
            if what["index"] and not what["unique"] and what["columns"] in (
                [column] for column in columns
            ):
                editor.execute(f"DROP INDEX {editor.quote_name(index)}")


def key(to, on_delete, related_name, **more):
    return models.ForeignKey(
        to=to, on_delete=on_delete, related_name=related_name, db_index=False, **more
    )


def maybe(to, on_delete, related_name):
    return key(to, on_delete, related_name, blank=True, null=True)


STATUS = models.CharField(
    choices=[
        ("received", "Received"),
        ("parsed", "Parsed"),
        ("rejected", "Rejected"),
        ("quarantined", "Quarantined"),
    ],
    default="received",
    max_length=20,
)
FIELDS = {
    ("run", "corun"): maybe("benchmarks.corun", SET_NULL, "runs"),
    ("run", "duplicate_of"): maybe("benchmarks.run", SET_NULL, "duplicates"),
    ("run", "lab"): key("benchmarks.lab", CASCADE, "runs"),
    ("run", "session"): maybe("benchmarks.session", SET_NULL, "runs"),
    ("run", "sitting"): maybe("benchmarks.session", SET_NULL, "sitting_runs"),
    ("run", "source"): maybe("benchmarks.run", CASCADE, "others"),
    ("run", "status"): STATUS,
    ("run", "study"): key("benchmarks.study", CASCADE, "runs"),
    ("run", "tool"): models.CharField(blank=True, max_length=101),
    **{
        (model, "run"): key("benchmarks.run", CASCADE, name, db_constraint=False)
        for model, name in (
            *(("runmean", "means"), ("runoutput", "outputs"), ("sample", "samples")),
        )
    },
}
NAMED = ("source", "duplicate_of", "corun", "session", "sitting")
INDEXES = [
    models.Index(fields=["tool"], name="run_by_tool"),
    models.Index(
        fields=["status"],
        name="run_by_odd_status",
        condition=~models.Q(status="parsed"),
    ),
    *(
        models.Index(
            fields=[name],
            name=f"run_by_{name}",
            condition=models.Q((f"{name}__isnull", False)),
        )
        for name in NAMED
    ),
]


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0067_studies_are_rolled_up")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(drop, migrations.RunPython.noop)
            ],
            state_operations=[
                migrations.AlterField(*place, field) for place, field in FIELDS.items()
            ],
        ),
        *(migrations.AddIndex("run", index) for index in INDEXES),
    ]
