"""A lab may demand more than a password of its members; the audit log keeps how people sign in."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmarks", "0059_events_are_delivered"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='lab',
            name='needs_second_factor',
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='kind',
            field=models.CharField(choices=[('made_lab', 'Made Lab'), ('invited', 'Invited'), ('withdrew', 'Withdrew'), ('joined', 'Joined'), ('changed_role', 'Changed Role'), ('removed', 'Removed'), ('left', 'Left'), ('issued', 'Issued'), ('revoked', 'Revoked'), ('corrected_session', 'Corrected Session'), ('declared_tool', 'Declared Tool'), ('changed_tool', 'Changed Tool'), ('retired_tool', 'Retired Tool'), ('revived_tool', 'Revived Tool'), ('deleted_tool', 'Deleted Tool'), ('changed_visibility', 'Changed Visibility'), ('published', 'Published'), ('signed', 'Signed'), ('withdrew_published', 'Withdrew Published'), ('deleted_study', 'Deleted Study'), ('deleted_runs', 'Deleted Runs'), ('deleted_account', 'Deleted Account'), ('imported', 'Imported'), ('made_webhook', 'Made Webhook'), ('deleted_webhook', 'Deleted Webhook'), ('changed_webhook', 'Changed Webhook'), ('linked_sign_in', 'Linked Sign In'), ('unlinked_sign_in', 'Unlinked Sign In'), ('set_factor', 'Set Factor'), ('removed_factor', 'Removed Factor'), ('reset_factor', 'Reset Factor'), ('used_recovery_code', 'Used Recovery Code'), ('changed_sign_in', 'Changed Sign In'), ('reset_password', 'Reset Password'), ('set_doi', 'Set Doi')], max_length=20),
        ),
    ]
