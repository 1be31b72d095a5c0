"""Display options of the compare page: chips, pins, search and quantities."""

import pytest

from benchmarks.models import Cell

PAGE = "/studies/alpha-lab/study/compare/"


def test_active_filter_has_chip_to_remove(text, pair):
    page = text(PAGE, data={"component": "network", "show": "overhead"})

    assert 'class="chip" href="?show=overhead"' in page
    assert 'class="chip" href="?component=network"' in page
    assert 'class="chip"' not in text(PAGE)


@pytest.mark.parametrize(
    ("show", "said"),
    [("efficiency", "0.247"), ("overhead", "75.3%"), ("value", "13.08")],
)
def test_cells_show_chosen_quantity(text, pair, show, said):
    assert f"<b>{said}</b>" in text(PAGE, data={"show": show})


@pytest.mark.parametrize(
    ("words", "is_found"), [("NETWORK write", True), ("network read", False)]
)
def test_search_needs_all_words(text, pair, words, is_found):
    page = text(PAGE, data={"q": words})

    assert ('<tr role="row" hidden>' in page) is not is_found
    assert ('<tbody role="rowgroup" hidden data-rows>' in page) is not is_found


def test_ratios_only_hides_native_column(text, pair):
    assert "Compare directly: native" in text(PAGE)
    assert "Compare directly: native" not in text(PAGE, data={"only": "ratios"})


def test_two_pinned_systems_are_compared(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(
        PAGE.replace("compare", "pair"),
        data={"pin": f"{native.system_id},{pair.system_id}"},
    )

    assert "4.050" in page
    assert "single run" in page
    assert f"?pin={pair.system_id}%2C{native.system_id}" in page


def test_card_shows_both_sides_and_reasons(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk})

    assert "13.08\xa0MB/s" in card
    assert "52.97\xa0MB/s" in card
    assert "Runs: this system 1, the baseline 1." in card


@pytest.mark.parametrize("cell", ["", "x", "0", "9" * 30])
def test_unknown_cell_has_no_card(client, pair, cell):
    assert client.get(f"{PAGE}cell/", {"cell": cell}).status_code == 404


def test_card_shows_overhead_like_cells(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk, "show": "overhead"})

    assert "<b>75.3%</b> overhead" in card


def test_card_starts_with_value_like_cells(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk, "show": "value"})

    assert "<b>13.08\xa0MB/s</b> measured value" in card
    assert "<dt>Ratio</dt><dd>0.247</dd>" in card


def test_pinned_systems_show_overhead_like_cells(text, pair):
    native = Cell.objects.get(system__hypervisor="native")
    pins = f"{pair.system_id},{native.system_id}"

    page = text(PAGE.replace("compare", "pair"), data={"pin": pins, "show": "overhead"})

    assert ">75.3%</a>" in page
    assert "1 minus the ratio" in page


@pytest.mark.parametrize("show", ["overhead", "value"])
def test_cell_links_keep_quantity(text, pair, show):
    page = text(PAGE, data={"show": show})

    assert f'href="../cells/{pair.pk}/?show={show}"' in page


def test_mean_has_no_excess_digits(text, submit, run_document, xen):
    submit(
        *(run_document(value) for value in (0.1, 0.2)), run_document(0.15, system=xen)
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    card = text(f"{PAGE}cell/?cell={cell.pk}")

    assert "0.15\N{NO-BREAK SPACE}MB/s, 2 runs" in card
    assert "0.15000000000000002" not in card
    assert "of native" in card
