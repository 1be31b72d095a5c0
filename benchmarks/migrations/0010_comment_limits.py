from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0009_machines_of_one_model")]

    operations = [
        migrations.AddField(
            "comment", "is_from_other_lab", models.BooleanField(default=False)
        ),
        migrations.AddField(
            "study", "comments_closed", models.BooleanField(default=False)
        ),
    ]
