"""Samples are stored with their run, and refer to nothing that is looked for again."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0037_what_quotes_others_is_known'),
    ]

    operations = [
        migrations.AddField(
            model_name='outboxitem',
            name='is_read',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='sample',
            name='case',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='benchmarks.case'),
        ),
        migrations.AlterField(
            model_name='sample',
            name='lab',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.lab'),
        ),
        migrations.AlterField(
            model_name='sample',
            name='run',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='benchmarks.run'),
        ),
    ]
