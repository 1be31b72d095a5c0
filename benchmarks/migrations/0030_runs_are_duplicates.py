import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0029_labs_declare_tools")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="duplicate_of",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="duplicates",
                to="benchmarks.run",
            ),
        ),
    ]
