"""The audit log has what was published, signed and withdrawn.

Results of sysbench that said no test have a class of work now: their studies are checked.
"""

from django.db import migrations, models


CHECK = """
    INSERT INTO benchmarks_duecheck (study_id, noted_at)
    SELECT DISTINCT effect.study_id, now()
    FROM benchmarks_effect AS effect JOIN benchmarks_case ON benchmarks_case.id = case_id
    WHERE tool = 'sysbench' AND work = ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0053_runs_of_unknown_time_have_no_order'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='kind',
            field=models.CharField(choices=[('made_lab', 'Made Lab'), ('invited', 'Invited'), ('withdrew', 'Withdrew'), ('joined', 'Joined'), ('changed_role', 'Changed Role'), ('removed', 'Removed'), ('left', 'Left'), ('issued', 'Issued'), ('revoked', 'Revoked'), ('corrected_session', 'Corrected Session'), ('declared_tool', 'Declared Tool'), ('changed_tool', 'Changed Tool'), ('retired_tool', 'Retired Tool'), ('revived_tool', 'Revived Tool'), ('deleted_tool', 'Deleted Tool'), ('changed_visibility', 'Changed Visibility'), ('published', 'Published'), ('signed', 'Signed'), ('withdrew_published', 'Withdrew Published'), ('deleted_study', 'Deleted Study'), ('deleted_runs', 'Deleted Runs'), ('deleted_account', 'Deleted Account')], max_length=20),
        ),
        migrations.RunSQL(CHECK, migrations.RunSQL.noop),
    ]
