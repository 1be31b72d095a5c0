"""Versions keep what labs declared of their own tools when they were judged."""

from django.db import migrations, models

TRIGGER = """
CREATE TRIGGER version_declarations_never_change
    BEFORE UPDATE OF declarations ON benchmarks_version FOR EACH ROW
    WHEN (OLD.declarations IS DISTINCT FROM NEW.declarations)
    EXECUTE FUNCTION refuse_change_of_version_file();
"""
BACK = "DROP TRIGGER version_declarations_never_change ON benchmarks_version;"


class Migration(migrations.Migration):

    dependencies = [
        ("benchmarks", "0045_stored_runs_have_means"),
    ]

    operations = [
        migrations.AddField(
            model_name="version",
            name="declarations",
            field=models.JSONField(default=list),
        ),
        migrations.RunSQL(TRIGGER, BACK),
    ]
