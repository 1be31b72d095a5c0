"""What runs that were processed before say of their cases."""

from django.db import migrations

FILL = """
    INSERT INTO benchmarks_runmean (lab_id, run_id, case_id, n, mean, decimals)
    SELECT sample.lab_id, sample.run_id, sample.case_id, count(*),
           avg(sample.value ORDER BY sample.sequence),
           max(scale(trim_scale(sample.value::numeric)))
    FROM benchmarks_sample AS sample
    JOIN benchmarks_run AS run ON run.id = sample.run_id
    WHERE run.status = 'parsed'
    GROUP BY sample.lab_id, sample.run_id, sample.case_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0044_runs_have_means'),
    ]

    operations = [migrations.RunSQL(FILL, "DELETE FROM benchmarks_runmean")]
