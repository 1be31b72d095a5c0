from benchmarks.parsing.catalogue import as_markdown
from benchmarks.tools import TOOLS


def test_it_lists_every_tool_and_metric():
    text = as_markdown()

    for tool in TOOLS.values():
        assert f"\n## {tool.title}\n\nSlug `{tool.slug}`" in text
        assert all(f"\n| {metric.name} | " in text for metric in tool.metrics)


def test_it_shows_unit_direction_and_component():
    assert "| service demand local | us/KB | lower | network |" in as_markdown()
    assert "| deadlocks | (count) | neither | application |" in as_markdown()
