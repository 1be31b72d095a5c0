from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0012_audit_log_never_changes")]

    operations = [
        migrations.AddField(
            "study", "sources", models.JSONField(blank=True, default=list)
        )
    ]
