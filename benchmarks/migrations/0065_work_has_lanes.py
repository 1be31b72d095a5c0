"""Work that came in bulk is told from an upload that somebody waits for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0064_texts_begin_with_their_lab")]
    operations = [
        migrations.AddField(
            "outboxitem",
            "is_bulk",
            models.BooleanField(db_default=False, default=False),
        ),
    ]
