from pathlib import Path

from benchmarks.plausibility.rules import RULES, flags_page
from tests.every import for_each

PAGE = Path(__file__).parents[3] / "docs" / "flags.md"


@for_each("rule", RULES.values())
def test_every_rule_has_its_section(rule):
    assert f"\n## {rule.id}\n" in flags_page()
    assert rule.title in flags_page()


def test_the_page_in_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == flags_page()


def test_the_rules_stand_in_the_order_of_their_families():
    places = [rule.place for rule in RULES.values()]

    assert places == sorted(places)
