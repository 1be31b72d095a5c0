"""What is stored of a cell's shape says bimodal, as programs read it."""

from django.db import migrations

CODES = """
UPDATE benchmarks_cell SET shape_codes = replace(shape_codes, 'two_speeds', 'bimodal')
WHERE shape_codes LIKE '%two_speeds%'
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0020_what_is_stored_says_study")]
    operations = [migrations.RunSQL(CODES)]
