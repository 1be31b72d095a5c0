from django.db import migrations

import benchmarks.models.sentence


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0017_campaigns_are_frozen_by_a_task'),
    ]

    operations = [
        migrations.AlterField(
            model_name='planstep',
            name='reason',
            field=benchmarks.models.sentence.SentenceField(blank=True),
        ),
        migrations.AlterField(
            model_name='runenergy',
            name='reason',
            field=benchmarks.models.sentence.SentenceField(blank=True),
        ),
    ]
