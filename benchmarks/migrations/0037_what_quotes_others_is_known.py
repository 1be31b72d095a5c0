"""Flags and versions know which other studies' values they say."""

from django.db import migrations, models

# What is known of those made before: the studies that cells are set against, and the
# one that a rule named.
QUOTES = """
    CREATE TEMPORARY TABLE leaning ON COMMIT DROP AS
    SELECT DISTINCT cell.study_id AS study, baseline.study_id AS quoted
    FROM benchmarks_efficiency AS against
    JOIN benchmarks_cell AS cell ON cell.id = against.cell_id
    JOIN benchmarks_cell AS baseline ON baseline.id = against.baseline_id
    WHERE baseline.study_id <> cell.study_id;

    INSERT INTO benchmarks_flag_quotes (flag_id, study_id)
    SELECT flag.id, leaning.quoted
    FROM benchmarks_flag AS flag JOIN leaning ON leaning.study = flag.study_id
    UNION
    SELECT flag.id, study.id
    FROM benchmarks_flag AS flag
    JOIN benchmarks_study AS study ON study.id::text = flag.evidence->>'other_study'
    WHERE study.id <> flag.study_id;

    INSERT INTO benchmarks_version_quotes (version_id, study_id)
    SELECT version.id, leaning.quoted
    FROM benchmarks_version AS version JOIN leaning ON leaning.study = version.study_id
    UNION
    SELECT version.id, quotes.study_id
    FROM benchmarks_version AS version
    JOIN benchmarks_flag AS flag ON flag.study_id = version.study_id
    JOIN benchmarks_flag_quotes AS quotes ON quotes.flag_id = flag.id;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("benchmarks", "0036_uploads_know_their_request"),
    ]

    operations = [
        migrations.AddField(
            model_name="flag",
            name="quotes",
            field=models.ManyToManyField(related_name="+", to="benchmarks.study"),
        ),
        migrations.AddField(
            model_name="version",
            name="quotes",
            field=models.ManyToManyField(related_name="+", to="benchmarks.study"),
        ),
        migrations.RunSQL(QUOTES, migrations.RunSQL.noop),
    ]
