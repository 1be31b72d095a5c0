"""Studies can be shared with named labs, say under what their data may be used, and
be archived."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0041_effects_are_found")]
    operations = [
        migrations.AddField(
            "study",
            "shared_with",
            models.ManyToManyField("benchmarks.lab", related_name="+", blank=True),
        ),
        migrations.AddField(
            "study", "data_licence", models.CharField(max_length=100, blank=True)
        ),
        migrations.AddField(
            "study", "archived_at", models.DateTimeField(null=True, blank=True)
        ),
        migrations.AlterField(
            "study",
            "visibility",
            models.CharField(
                max_length=20,
                choices=[
                    ("private", "Private"),
                    ("shared", "Shared"),
                    ("public", "Public"),
                ],
                default="private",
            ),
        ),
    ]
