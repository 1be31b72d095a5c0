from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0010_comment_limits")]

    operations = [
        migrations.AddField(
            "token",
            "bundle_key",
            models.CharField(blank=True, default="", max_length=200),
        ),
    ]
