"""Comparison rows for exports, some with texts that are commands elsewhere."""

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from tests.comparison_rows import MEASURED, NATIVE, SLOWER, XEN, changed

HOSTILE = [
    "\\input{/etc/passwd}",
    "\\end{tabular}\\write18{rm}",
    "100 % of_it & #1 ~^ {open",
    "} closed } twice",
    "$x$ `quoted' ''so'' \"plain\"",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "<b>bold</b> >> <<",
    '#panic() #read("/etc/passwd") *b* _i_ @ref <label> $ / // [x]',
    "שלום עולם \N{RIGHT-TO-LEFT MARK}العربية 中文 🙂",
    'a, "b"; c -- d --- e ,, f',
    "Größe Łódź Čapek 5 µs · ≤ 2 \N{MULTIPLICATION SIGN} 3",
]


@pytest.fixture
def rows():
    """Return the rows of a native cell and a Xen cell, each of one run."""
    return [NATIVE, XEN]


@pytest.fixture
def measured():
    """Return the row of a Xen cell of six runs that is slower than native."""
    return MEASURED


@pytest.fixture
def hostile():
    """Return a table with texts that are markup or commands in some format."""
    return comparison_table(
        changed(
            XEN,
            id=at,
            system_id=at,
            case_id=at % 3,
            case=f"{name} · {name}",
            hypervisor=name,
            guest_os=name,
            options={name: name},
            load=name,
            unit=name[:5],
            document=name,
            table=name,
            reason=name,
            assessment=SLOWER,
        )
        for at, name in enumerate(HOSTILE)
    )
