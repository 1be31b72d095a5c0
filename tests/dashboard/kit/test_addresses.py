"""What an address asks for and the page does not have is said, with a way on."""

import pytest

from dashboard.kit.addresses import unmet

NOTE = "data-unmet"
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
    UOC: ["energy/?waiting=much", "energy/?run=999999", "sweep/?family=none"],
    "heidelberg-2007-xen": ["network/?metric=99"],
}
HERE = {
    XEN: [
        "compare/?show=overhead&baseline=native&scenario=single",
        "factor-effects/?component=network&response=value",
        "flags/?status=all",
    ],
    UOC: ["energy/?waiting=110", "sweep/?response=efficiency"],
}


def test_only_what_came_to_something_else_is_unmet():
    query = {"case": "99", "run": "4", "family": ""}

    assert unmet(query, {"case": 7, "run": 4, "family": "a"}) == ("case=99",)


@pytest.mark.parametrize("study", NOT_HERE)
def test_it_says_what_is_not_here(text, lab, load_study, study):
    load_study(study)

    for address in NOT_HERE[study]:
        page = text(f"/studies/{lab.slug}/{study}/{address}")
        assert NOTE in page, address
        assert f"{address.partition('?')[2]}." in page


@pytest.mark.parametrize("study", HERE)
def test_it_says_nothing_of_what_is_here(text, lab, load_study, study):
    load_study(study)

    for address in HERE[study]:
        assert NOTE not in text(f"/studies/{lab.slug}/{study}/{address}"), address
