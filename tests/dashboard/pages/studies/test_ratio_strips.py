"""Strips of ratios on the page of studies."""

from benchmarks.comparison.overhead_profile import SpectrumBand
from benchmarks.models import Study
from dashboard.pages.studies.ratio_strips import ratio_strips


def band(*lines, component="network"):
    return SpectrumBand(
        study=Study(slug="study"),
        component=component,
        hypervisor="Xen 3.3",
        pairs=len(lines),
        lowest=min(lines),
        highest=max(lines),
        lines=lines,
    )


def test_no_strip_without_ratios():
    assert ratio_strips([]) is None


def test_lines_are_grouped_by_native_performance():
    (group,) = ratio_strips([band(0.25, 1.0, 1.2)])["groups"]
    lines = group["strips"][0]["lines"]

    assert [line["side"] for line in lines] == ["below", "near", "above"]
    places = [float(line["x"].rstrip("%")) for line in lines]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)


def test_native_line_is_at_ratio_one():
    drawn = ratio_strips([band(0.5, 1.0)])

    assert drawn["native"] == drawn["groups"][0]["strips"][0]["lines"][-1]["x"]


def test_ratios_beyond_axis_are_counted_not_drawn():
    strip = ratio_strips([band(0.00098, 0.9)])["groups"][0]["strips"][0]

    assert len(strip["lines"]) == 1
    assert strip["goes_below"]
    assert not strip["goes_above"]


def test_components_are_groups():
    drawn = ratio_strips([band(0.9, component="CPU"), band(0.5), band(0.6)])

    assert [
        (group["component"], len(group["strips"])) for group in drawn["groups"]
    ] == [
        ("CPU", 1),
        ("network", 2),
    ]
    assert drawn["pairs"] == 3
