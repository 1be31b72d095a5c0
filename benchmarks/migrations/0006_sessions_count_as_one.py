import django.db.models.deletion
from django.db import migrations, models

import benchmarks.models.sentence


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0005_screening_and_copies")]

    operations = [
        migrations.AddField(
            model_name="session",
            name="counted_with",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="counted_sessions",
                to="benchmarks.session",
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="counted_reason",
            field=benchmarks.models.sentence.SentenceField(blank=True, default=""),
            preserve_default=False,
        ),
    ]
