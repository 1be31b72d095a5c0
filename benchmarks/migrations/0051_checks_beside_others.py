"""A check may be due for what a study is beside alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0050_reviews_are_published"),
    ]

    operations = [
        migrations.AddField(
            model_name="duecheck",
            name="is_beside",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
