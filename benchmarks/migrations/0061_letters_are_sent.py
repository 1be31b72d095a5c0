"""Letters, and what somebody is told by them."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0060_labs_demand_second_factors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Digest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('every', models.CharField(choices=[('day', 'Day'), ('week', 'Week')], max_length=10)),
                ('labs', models.BooleanField(default=True)),
                ('due_at', models.DateTimeField(db_index=True)),
                ('told_until', models.BigIntegerField(default=0)),
                ('person', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='digest', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Follow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.study')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('person', 'study'), name='study_is_followed_once')],
            },
        ),
        migrations.CreateModel(
            name='Letter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('invitation', 'Invitation'), ('new_password', 'New Password'), ('address', 'Address'), ('digest', 'Digest')], max_length=20)),
                ('address', models.CharField(max_length=254)),
                ('sealed', models.TextField(blank=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('tried_at', models.DateTimeField(null=True)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('invitation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='benchmarks.invitation')),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_at'], name='letters_that_wait')],
            },
        ),
    ]
