"""What an installation has stored is read by the next version."""

from importlib import import_module

import pytest
from django.db import connection

from benchmarks.models import Cell

bimodal = import_module("benchmarks.migrations.0021_two_speeds_are_bimodal")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("two_speeds", "bimodal"),
        ("two_speeds,periodic", "bimodal,periodic"),
        ("drift", "drift"),
        ("", ""),
    ],
)
def test_cells_of_two_speeds_become_bimodal(submit, run_document, old, new):
    submit(run_document())
    Cell.objects.update(shape_codes=old)

    with connection.cursor() as cursor:
        cursor.execute(bimodal.CODES)

    assert Cell.objects.get().shape_codes == new
