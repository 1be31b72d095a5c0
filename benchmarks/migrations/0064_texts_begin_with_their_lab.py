"""The key of what was uploaded begins with its lab, as that of samples does.

So the table can be distributed by it. As samples it is joined to its run and lab by no
constraint: a distributed table cannot refer to one that is not.
"""

import django.db.models.deletion
from django.db import migrations, models

BY_LAB = """
    DO $$
    DECLARE name text;
    BEGIN
        FOR name IN SELECT conname FROM pg_constraint
            WHERE conrelid = 'benchmarks_runoutput'::regclass AND contype IN ('f', 'p')
        LOOP
            EXECUTE format('ALTER TABLE benchmarks_runoutput DROP CONSTRAINT %I', name);
        END LOOP;
        FOR name IN SELECT indexrelid::regclass::text FROM pg_index
            WHERE indrelid = 'benchmarks_runoutput'::regclass
        LOOP
            EXECUTE format('DROP INDEX %s', name);
        END LOOP;
    END $$;
    ALTER TABLE benchmarks_runoutput
        ADD CONSTRAINT benchmarks_runoutput_pkey PRIMARY KEY (lab_id, run_id);
    CREATE INDEX benchmarks_runoutput_run_id ON benchmarks_runoutput (run_id);
"""
BY_RUN = """
    ALTER TABLE benchmarks_runoutput DROP CONSTRAINT benchmarks_runoutput_pkey;
    DROP INDEX benchmarks_runoutput_run_id;
    ALTER TABLE benchmarks_runoutput
        ADD CONSTRAINT benchmarks_runoutput_pkey PRIMARY KEY (run_id);
    ALTER TABLE benchmarks_runoutput
        ADD FOREIGN KEY (run_id) REFERENCES benchmarks_run (id)
        DEFERRABLE INITIALLY DEFERRED,
        ADD FOREIGN KEY (lab_id) REFERENCES benchmarks_lab (id)
        DEFERRABLE INITIALLY DEFERRED;
    CREATE INDEX benchmarks_runoutput_lab_id ON benchmarks_runoutput (lab_id);
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0063_systems_know_what_runs_beneath")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(BY_LAB, BY_RUN)],
            [
                migrations.DeleteModel("RunOutput"),
                migrations.CreateModel(
                    "RunOutput",
                    [
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
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="outputs",
                                to="benchmarks.run",
                            ),
                        ),
                    ],
                ),
            ],
        )
    ]
