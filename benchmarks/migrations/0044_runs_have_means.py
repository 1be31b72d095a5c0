"""What a run says of a case is kept beside its samples."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0043_labs_are_made_by_people'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunMean',
            fields=[
                ('pk', models.CompositePrimaryKey('lab_id', 'run_id', 'case_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('n', models.PositiveIntegerField()),
                ('mean', models.FloatField()),
                ('decimals', models.PositiveSmallIntegerField()),
                ('case', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='benchmarks.case')),
                ('lab', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.lab')),
                ('run', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='means', to='benchmarks.run')),
            ],
        ),
    ]
