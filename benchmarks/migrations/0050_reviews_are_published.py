"""Reviews are published: what they state, their numbers and files never change."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


STATED = ("lab_id", "title", "authors", "note", "published_by", "product_version")
FROZEN = (*STATED, "rule_set", "content", "stamp", "requested_at", "site")
TRIGGERS = f"""
CREATE FUNCTION refuse_change_of_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What a review says is published: withdraw it instead.';
END $$;
CREATE TRIGGER reviews_never_change
    BEFORE UPDATE ON benchmarks_review FOR EACH ROW
    WHEN ({" OR ".join(f"OLD.{it} IS DISTINCT FROM NEW.{it}" for it in FROZEN)}
          OR OLD.digest <> '' AND OLD.digest <> NEW.digest)
    EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER reviews_are_not_deleted
    BEFORE DELETE ON benchmarks_review
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER review_files_never_change
    BEFORE UPDATE OR DELETE ON benchmarks_reviewfile
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
CREATE TRIGGER reviewed_studies_never_change
    BEFORE UPDATE OR DELETE ON benchmarks_reviewedstudy
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_review();
"""
BACK = """
DROP TRIGGER reviewed_studies_never_change ON benchmarks_reviewedstudy;
DROP TRIGGER review_files_never_change ON benchmarks_reviewfile;
DROP TRIGGER reviews_are_not_deleted ON benchmarks_review;
DROP TRIGGER reviews_never_change ON benchmarks_review;
DROP FUNCTION refuse_change_of_review();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0049_pictures_are_drawn'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('site', models.CharField(max_length=300)),
                ('stage', models.CharField(choices=[('waiting', 'Waiting'), ('collecting', 'Collecting'), ('typesetting', 'Typesetting'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=20)),
                ('requested_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('title', models.CharField(max_length=300)),
                ('authors', models.CharField(max_length=500)),
                ('note', models.TextField(blank=True)),
                ('published_by', models.CharField(max_length=150)),
                ('product_version', models.CharField(max_length=50)),
                ('rule_set', models.PositiveSmallIntegerField()),
                ('content', models.JSONField()),
                ('stamp', models.CharField(max_length=64)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('withdrawn_by', models.CharField(blank=True, max_length=150)),
                ('withdrawn_reason', models.TextField(blank=True)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='benchmarks.lab')),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='ReviewedStudy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviewed', to='benchmarks.review')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='benchmarks.study')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='benchmarks.version')),
            ],
        ),
        migrations.AddField(
            model_name='review',
            name='studies',
            field=models.ManyToManyField(related_name='reviews', through='benchmarks.ReviewedStudy', to='benchmarks.study'),
        ),
        migrations.CreateModel(
            name='ReviewFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('content', models.BinaryField()),
                ('size', models.PositiveIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='benchmarks.review')),
            ],
        ),
        migrations.AddConstraint(
            model_name='reviewedstudy',
            constraint=models.UniqueConstraint(fields=('review', 'study'), name='study_is_reviewed_once'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at', None)), fields=('lab', 'stamp'), name='review_is_published_once'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(('withdrawn_at', None), models.Q(('withdrawn_reason', ''), _negated=True), _connector='OR'), name='review_is_withdrawn_with_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='reviewfile',
            constraint=models.UniqueConstraint(fields=('review', 'name'), name='review_has_each_file_once'),
        ),
        migrations.RunSQL(TRIGGERS, BACK),
    ]
