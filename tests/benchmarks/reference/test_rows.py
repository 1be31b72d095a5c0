from hashlib import sha256

import pytest

from benchmarks.reference import data_files as rows
from benchmarks.reference.data_files import read_rows

# Numbers transcribed from the five documents; a corrected number is a new fact.
TRANSCRIBED = {
    "heidelberg-2007-xen.csv": (
        "596584172797d8774cc500f9cda6c731960e745fc8070393d58b4b960ed6dc10"
    ),
    "inqbus-2008-io.csv": (
        "b9d26d4b266b8bda811deb72cdf3c1d61c6f9226ccacc924d23bbf493dca3d93"
    ),
    "lmu-2010-esxi.csv": (
        "d26f5fc69e80006ba4ee4121e701a93e6fb404b1ba22dce9ffbbec15f216a55d"
    ),
    "lmu-2010-xen.csv": (
        "0fca09ba7bf6c3d5ad1fe1fd1a384e5a1a720bcdda6bfa409d4f926d8128b9b2"
    ),
    "uoc-2012-kvm.csv": (
        "e32ccc363a4ab79c5661ab10eff9b9901eed875ffa85e67fab9fccfa2a0c0ef8"
    ),
}


@pytest.mark.parametrize("name", TRANSCRIBED)
def test_the_printed_numbers_are_never_edited(name):
    content = (rows.DATA / name).read_bytes()

    assert sha256(content).hexdigest() == TRANSCRIBED[name]


def test_parameters_are_split_at_the_first_equals_sign():
    header = {"params": "storage=HDD;header T=600,MT=4096"}
    row = rows.ReferenceRow(**dict.fromkeys(rows.ReferenceRow.__slots__, "") | header)

    assert row.parameters == {"storage": "HDD", "header T": "600,MT=4096"}


def test_a_row_without_parameters_has_none():
    row = rows.ReferenceRow(**dict.fromkeys(rows.ReferenceRow.__slots__, ""))

    assert row.parameters == {}


def test_a_file_with_other_columns_is_rejected(tmp_path, monkeypatch):
    (tmp_path / "study.csv").write_text("document,table\na,b\n", encoding="utf-8")
    monkeypatch.setattr(rows, "DATA", tmp_path)

    with pytest.raises(ValueError, match=r"study\.csv has other columns than document"):
        read_rows("study")
