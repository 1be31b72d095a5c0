"""What may be quoted of a cell, on its page."""

from benchmarks.models import Cell

PAGE = "/campaigns/alpha-lab/study/cells/"


def test_a_verdict_can_be_quoted_with_its_address(text, submit, run_document, xen):
    submit(
        *(run_document(100 + at / 10) for at in range(6)),
        *(run_document(80 + at / 10, system=xen) for at in range(6)),
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    page = text(f"{PAGE}{cell.pk}/")

    assert "On host alpha, Xen 3.3 full Ubuntu Server 9.04 32-bit gives 0.800 [" in page
    assert "of native in Iometer" in page
    assert f"it is slower. http://testserver{PAGE}{cell.pk}/" in page


def test_a_single_run_cannot_be_quoted(text, pair):
    page = text(f"{PAGE}{pair.pk}/")

    assert "Nothing: no verdict may be given here." in page
    assert 'id="claim-text"' not in page
