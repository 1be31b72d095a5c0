"""Selection of the comparison page from its URL."""

import pytest

from benchmarks.comparison.row_queries import StudyFacets
from benchmarks.models import Study
from dashboard.kit.comparison_form import build_filter_menus, read_selection, run_menus

FACETS = StudyFacets(
    scenarios=("single", "parallel"),
    components=("CPU", "network"),
    tools=(("iometer", "Iometer"),),
    guest_oses=("Ubuntu",),
    guest_bits=(32, 64),
    systems=(),
)
NOTHING = StudyFacets((), (), (), (), (), ())


def chosen(menu):
    return [choice.value for choice in menu.choices if choice.is_chosen]


def test_defaults_are_the_first_scenario_and_native():
    assert read_selection({}, FACETS).cell_lookups() == {"scenario": "single"}
    assert read_selection({}, FACETS).baseline == "native"
    assert read_selection({}, NOTHING).cell_lookups() == {}


def test_every_filter_becomes_a_lookup():
    query = {
        "scenario": "parallel",
        "component": "CPU",
        "tool": "iometer",
        "guest_os": "Ubuntu",
        "bits": "32",
    }

    assert read_selection(query, FACETS).cell_lookups() == {
        "scenario": "parallel",
        "case__component": "CPU",
        "case__tool": "iometer",
        "system__guest_os": "Ubuntu",
        "system__guest_bits": 32,
    }


def test_all_scenarios_can_be_selected():
    assert read_selection({"scenario": "all"}, FACETS).cell_lookups() == {}


@pytest.mark.parametrize("bits", ["x", "-1", "٣٢", "9" * 99, "32.0"])
def test_invalid_values_match_nothing(bits):
    assert (
        read_selection({"bits": bits}, FACETS).cell_lookups()["system__guest_bits"]
        == -1
    )


@pytest.mark.parametrize("baseline", ["", "0", "x", "9" * 99])
def test_unknown_baselines_mean_native(baseline):
    assert read_selection({"baseline": baseline}, FACETS).reference(FACETS) is None


def test_menus_mark_their_selection_and_changes():
    menu_of = {
        menu.name: menu
        for menu in build_filter_menus(
            read_selection({"bits": "64"}, FACETS), FACETS, Study()
        )
    }

    assert chosen(menu_of["bits"]) == ["64"]
    assert menu_of["bits"].is_changed
    assert chosen(menu_of["scenario"]) == ["single"]
    assert not menu_of["scenario"].is_changed


def test_unknown_values_are_shown_in_menus():
    (menu, *_) = run_menus({"tool": "fio"}, FACETS, {})

    assert chosen(menu) == ["fio"]
