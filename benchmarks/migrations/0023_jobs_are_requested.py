"""Reports and versions are requested: the day of it is called so."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0022_versions_are_published")]
    operations = [
        migrations.RenameField("report", "asked_at", "requested_at"),
        migrations.RenameField("publishingjob", "asked_at", "requested_at"),
    ]
