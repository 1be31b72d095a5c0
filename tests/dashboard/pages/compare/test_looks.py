"""How the compare page is looked at: chips, pins, search, what cells show."""

import pytest

from benchmarks.models import Cell

PAGE = "/studies/alpha-lab/study/compare/"


def test_what_was_chosen_is_a_chip_that_takes_it_back(text, pair):
    page = text(PAGE, data={"component": "network", "show": "overhead"})

    assert 'class="chip" href="?show=overhead"' in page
    assert 'class="chip" href="?component=network"' in page
    assert 'class="chip"' not in text(PAGE)


@pytest.mark.parametrize(
    ("show", "said"),
    [("efficiency", "0.247"), ("overhead", "75.3\xa0%"), ("value", "13.08")],
)
def test_cells_show_what_was_asked_for(text, pair, show, said):
    assert f"<b>{said}</b>" in text(PAGE, data={"show": show})


@pytest.mark.parametrize(
    ("words", "is_found"), [("NETWORK write", True), ("network read", False)]
)
def test_a_search_hides_the_rows_that_have_not_all_words(text, pair, words, is_found):
    page = text(PAGE, data={"q": words})

    assert ('<tr role="row" hidden>' in page) is not is_found
    assert ('<tbody role="rowgroup" hidden data-rows>' in page) is not is_found


def test_only_ratios_leaves_the_native_column_out(text, pair):
    assert "Compare directly: native" in text(PAGE)
    assert ": native" not in text(PAGE, data={"only": "ratios"}).split("<table")[1]


def test_two_pins_are_compared_directly(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(
        PAGE.replace("compare", "direct"),
        data={"pin": f"{native.system_id},{pair.system_id}"},
    )

    assert "4.050" in page
    assert "single run" in page
    assert f"?pin={pair.system_id}%2C{native.system_id}" in page


def test_a_card_tells_both_sides_and_the_reasons(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk})

    assert "13.08\xa0MB/s" in card
    assert "52.97\xa0MB/s" in card
    assert "A single run: no uncertainty estimate." in card


@pytest.mark.parametrize("cell", ["", "x", "0", "9" * 30])
def test_a_cell_that_is_not_there_has_no_card(client, pair, cell):
    assert client.get(f"{PAGE}cell/", {"cell": cell}).status_code == 404


def test_a_card_tells_the_overhead_where_cells_do(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk, "show": "overhead"})

    assert "<b>75.3\xa0%</b> overhead" in card


def test_a_card_begins_with_the_value_where_cells_do(text, pair):
    card = text(f"{PAGE}cell/", data={"cell": pair.pk, "show": "value"})

    assert "<b>13.08\xa0MB/s</b> measured value" in card
    assert "<dt>Ratio</dt><dd>0.247</dd>" in card


def test_pins_tell_the_overhead_where_cells_do(text, pair):
    native = Cell.objects.get(system__hypervisor="native")
    pins = f"{pair.system_id},{native.system_id}"

    page = text(
        PAGE.replace("compare", "direct"), data={"pin": pins, "show": "overhead"}
    )

    assert ">75.3\xa0%</a>" in page
    assert "1 less the ratio" in page


@pytest.mark.parametrize("show", ["overhead", "value"])
def test_links_of_cells_keep_what_is_shown(text, pair, show):
    page = text(PAGE, data={"show": show})

    assert f'href="../cells/{pair.pk}/?show={show}"' in page


def test_a_mean_of_several_runs_has_no_digits_of_its_division(
    text, submit, run_document, xen
):
    submit(
        *(run_document(value) for value in (0.1, 0.2)), run_document(0.15, system=xen)
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    card = text(f"{PAGE}cell/?cell={cell.pk}")

    assert "0.15\N{NO-BREAK SPACE}MB/s, 2 runs" in card
    assert "0.15000000000000002" not in card
    assert "of native" in card
