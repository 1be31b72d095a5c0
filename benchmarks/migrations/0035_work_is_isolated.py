"""What failed in the background is known, one row a unit of work."""

import benchmarks.models.sentence
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0034_shapes_say_what_order_moves'),
    ]

    operations = [
        migrations.CreateModel(
            name='UnfinishedWork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('check', 'Check'), ('energy', 'Energy'), ('plan', 'Plan'), ('publishing', 'Publishing')], max_length=20)),
                ('tried_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('server_started_at', models.DateTimeField(null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('error', benchmarks.models.sentence.SentenceField(blank=True)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('quarantined_at', models.DateTimeField(null=True)),
                ('version', models.CharField(blank=True, max_length=50)),
                ('host', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.host')),
                ('job', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.publishingjob')),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.lab')),
                ('plan', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.plan')),
                ('study', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.study')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('lab', 'kind', 'study', 'host', 'plan', 'job'), name='unfinished_work_is_noted_once', nulls_distinct=False)],
            },
        ),
    ]
