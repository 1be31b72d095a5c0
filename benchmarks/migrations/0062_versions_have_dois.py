"""Where a version was registered elsewhere."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0061_letters_are_sent"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='version',
            name='doi',
            field=models.CharField(blank=True, max_length=200),
        ),
    ]
