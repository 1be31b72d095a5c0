"""`manage.py import_bundle`: import of files for the lab of the signing token."""

import re

import pytest
from django.core.management import CommandError, call_command

from agents.commands import bundle as bundles
from agents.spool import Spool
from benchmarks.models import Run


def test_files_are_imported_and_rejections_reported(
    tmp_path, token, run_document, capsys
):
    spool = Spool(str(tmp_path / "spool"))
    spool.save(run_document())
    [created] = bundles.write_bundles(spool, str(tmp_path), token)
    wrong = tmp_path / "wrong.virtlab"
    wrong.write_bytes(b"nothing")

    call_command("import_bundle", created)
    with pytest.raises(CommandError, match="2 of 3"):
        call_command("import_bundle", created, wrong, tmp_path / "missing")

    output = capsys.readouterr()
    assert re.search(r"\b1 new\b.*\b0 stored before", output.out)
    assert re.search(r"\b0 new\b.*\b1 stored before", output.out)
    assert f"{wrong}: This is not a bundle" in output.err
    assert "missing: No such file" in output.err
    assert Run.objects.count() == 1
