from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0002_cellsession_runs")]

    operations = [
        migrations.AddField(
            "token", "can_manage", models.BooleanField(default=False)
        ),
        # Existing tokens keep their rights: `upload` permitted every change.
        migrations.RunSQL(
            "UPDATE benchmarks_token SET can_manage = can_upload",
            migrations.RunSQL.noop,
        ),
        migrations.RemoveConstraint("token", "token_has_a_scope"),
        migrations.AddConstraint(
            "token",
            models.CheckConstraint(
                condition=models.Q(can_upload=True)
                | models.Q(can_read=True)
                | models.Q(can_manage=True),
                name="token_has_a_scope",
            ),
        ),
    ]
