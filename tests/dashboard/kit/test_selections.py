"""The choice of the compare page, read from its URL."""

import pytest

from benchmarks.comparing.rows import Facets
from benchmarks.models import Study
from dashboard.kit.selections import menus, run_menus, selection

FACETS = Facets(
    scenarios=("single", "parallel"),
    components=("CPU", "network"),
    tools=(("iometer", "Iometer"),),
    guest_oses=("Ubuntu",),
    guest_bits=(32, 64),
    systems=(),
)
NOTHING = Facets((), (), (), (), (), ())


def chosen(menu):
    return [choice.value for choice in menu.choices if choice.is_chosen]


def test_at_first_the_first_scenario_is_shown_against_native():
    assert selection({}, FACETS).filters() == {"scenario": "single"}
    assert selection({}, FACETS).baseline == "native"
    assert selection({}, NOTHING).filters() == {}


def test_every_part_of_the_choice_narrows_the_cells():
    query = {
        "scenario": "parallel",
        "component": "CPU",
        "tool": "iometer",
        "guest_os": "Ubuntu",
        "bits": "32",
    }

    assert selection(query, FACETS).filters() == {
        "scenario": "parallel",
        "case__component": "CPU",
        "case__tool": "iometer",
        "system__guest_os": "Ubuntu",
        "system__guest_bits": 32,
    }


def test_all_scenarios_can_be_asked_for():
    assert selection({"scenario": "all"}, FACETS).filters() == {}


@pytest.mark.parametrize("bits", ["x", "-1", "٣٢", "9" * 99, "32.0"])
def test_nonsense_finds_nothing_and_breaks_nothing(bits):
    assert selection({"bits": bits}, FACETS).filters()["system__guest_bits"] == -1


@pytest.mark.parametrize("baseline", ["", "0", "x", "9" * 99])
def test_a_baseline_that_is_no_system_of_the_study_means_native(baseline):
    assert selection({"baseline": baseline}, FACETS).reference(FACETS) is None


def test_each_menu_marks_its_choice_and_whether_it_was_changed():
    menu_of = {
        menu.name: menu
        for menu in menus(selection({"bits": "64"}, FACETS), FACETS, Study())
    }

    assert chosen(menu_of["bits"]) == ["64"]
    assert menu_of["bits"].is_changed
    assert chosen(menu_of["scenario"]) == ["single"]
    assert not menu_of["scenario"].is_changed


def test_a_choice_that_does_not_occur_is_still_shown():
    (menu, *_) = run_menus({"tool": "fio"}, FACETS, {})

    assert chosen(menu) == ["fio"]
