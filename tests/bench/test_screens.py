"""`make screens`: the addresses that its pictures need are found on the pages."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import screens
from benchmarks.models import Cell
from benchmarks.studies import checking
from tests.own_tools import declare


@pytest.fixture
def maintainer(client, person, monkeypatch) -> Any:
    """A browser that keeps the lab of the tests, as far as it is asked for pages."""
    monkeypatch.setattr(screens, "LAB", "alpha-lab")
    client.force_login(person)

    def get(address: str) -> Any:
        content = client.get(address, follow=True).content.decode()
        return SimpleNamespace(text=lambda: content)

    return SimpleNamespace(request=SimpleNamespace(get=get))


@pytest.mark.django_db
def test_it_finds_cells_systems_tools_and_the_latest_version(
    maintainer, load_study, publish, lab
):
    for slug in ("lmu-2010-xen", "inqbus-2008-io"):
        study = load_study(slug)
        checking.check_study(study)
    version, tool = publish(study), declare(lab)

    ids = screens.found_ids(cast(Any, maintainer))

    bimodal = Cell.objects.get(pk=ids["bimodal"])
    assert "bimodal" in bimodal.shape_codes
    assert (ids["version"], ids["tool"]) == (str(version.pk), tool.slug)
    assert ids["one"] != ids["other"]
    assert set(ids) == {name for name, *_ in screens.IDS} - {"plan"}
