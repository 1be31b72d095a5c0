"""Runs say how many of their samples nobody uploaded.

`manage.py prepare` processes the uploads of older studies once more, which counts them.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0032_shapes_count_by_effect")]
    operations = [
        migrations.AddField(
            "run", "derived_count", models.PositiveIntegerField(default=0)
        ),
    ]
