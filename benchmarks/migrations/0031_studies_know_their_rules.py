"""What has no speed has no efficiency; slots have a slowdown; studies know their rules.

The cells of every study that is there already are set against others once more by
`manage.py prepare`.
"""

from django.db import migrations, models

import benchmarks.models.study


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0030_runs_are_duplicates")]
    operations = [
        migrations.AlterField(
            "efficiency",
            "state",
            models.CharField(max_length=20, choices=[('native', 'Native'), ('paired', 'Paired'), ('other_session', 'Other Session'), ('stale', 'Stale'), ('ambiguous', 'Ambiguous'), ('missing', 'Missing'), ('relative', 'Relative'), ('reference', 'Reference'), ('undirected', 'Undirected'), ('scaling', 'Scaling'), ('other_parameters', 'Other Parameters'), ('unit_mismatch', 'Unit Mismatch'), ('other_host', 'Other Host'), ('slowdown', 'Slowdown'), ('no_speed', 'No Speed')]),
        ),
        migrations.AddField(
            "study",
            "efficiency_rules",
            models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AlterField(
            "study",
            "efficiency_rules",
            models.PositiveSmallIntegerField(
                default=benchmarks.models.study.efficiency_rules
            ),
        ),
    ]
