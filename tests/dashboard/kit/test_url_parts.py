"""Pages show query parameters that they ignore, with a link to continue."""

import pytest

from dashboard.kit.url_parts import ignored_parameters

NOTE = "data-ignored-parameters"
XEN, UOC = "lmu-2010-xen", "uoc-2012-kvm"
NOT_HERE = {
    XEN: [
        "compare/?baseline=999999",
        "compare/?pin=1,999999",
        "compare/?show=colours",
        "co-runs/?case=999999",
        "factor-effects/?component=printer",
        "factor-effects/?case=999999",
        "flags/?status=doubtful",
    ],
    UOC: ["energy/?idle_w=much", "energy/?run=999999", "sweep/?family=none"],
    "heidelberg-2007-xen": ["network/?metric=99"],
}
HERE = {
    XEN: [
        "compare/?show=overhead&baseline=native&scenario=single",
        "factor-effects/?component=network&response=value",
        "flags/?status=all",
    ],
    UOC: ["energy/?idle_w=110", "sweep/?response=relative_performance"],
}


def test_only_ignored_parameters_are_reported():
    query = {"case": "99", "run": "4", "family": ""}

    assert ignored_parameters(query, {"case": 7, "run": 4, "family": "a"}) == (
        "case=99",
    )


@pytest.mark.parametrize("study", NOT_HERE)
def test_pages_report_ignored_parameters(text, lab, load_study, study):
    load_study(study)

    for address in NOT_HERE[study]:
        page = text(f"/studies/{lab.slug}/{study}/{address}")
        assert NOTE in page, address
        assert f"{address.partition('?')[2]}." in page


@pytest.mark.parametrize("study", HERE)
def test_pages_do_not_report_applied_parameters(text, lab, load_study, study):
    load_study(study)

    for address in HERE[study]:
        assert NOTE not in text(f"/studies/{lab.slug}/{study}/{address}"), address
