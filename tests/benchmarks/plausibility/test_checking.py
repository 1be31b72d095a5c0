from pathlib import Path

from benchmarks.plausibility.rules import RULES, flags_page
from tests.for_each import for_each

PAGE = Path(__file__).parents[3] / "docs" / "flags.md"


@for_each("rule", RULES.values())
def test_every_rule_has_its_section(rule):
    assert f"\n## {rule.id}\n" in flags_page()
    assert rule.title in flags_page()


def test_the_page_in_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == flags_page()


def test_rules_are_sorted_by_family():
    sort_keys = [rule.sort_key for rule in RULES.values()]

    assert sort_keys == sorted(sort_keys)
