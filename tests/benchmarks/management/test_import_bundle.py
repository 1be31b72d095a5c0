"""`manage.py import_bundle`: by files, in the name of the lab that signed them."""

import pytest
from django.core.management import CommandError, call_command

from agents.commands import bundle as bundles
from agents.spool import Spool
from benchmarks.models import Run


def test_it_imports_files_and_names_what_it_refuses(
    tmp_path, token, run_document, capsys
):
    spool = Spool(str(tmp_path / "spool"))
    spool.save(run_document())
    [made] = bundles.write(spool, str(tmp_path), token)
    wrong = tmp_path / "wrong.virtlab"
    wrong.write_bytes(b"nothing")

    call_command("import_bundle", made)
    with pytest.raises(CommandError, match="2 of 3 were refused"):
        call_command("import_bundle", made, wrong, tmp_path / "missing")

    said = capsys.readouterr()
    assert "1 new, 0 known" in said.out
    assert "0 new, 1 known" in said.out
    assert f"{wrong}: This is not a bundle" in said.err
    assert "missing: No such file" in said.err
    assert Run.objects.count() == 1
