"""The cache of what is computed from one study."""

import pytest

from benchmarks.models import Cell, Study
from benchmarks.studies import study_cache
from benchmarks.studies.data_versions import track_tables
from benchmarks.studies.study_cache import StudyCache
from benchmarks.viewer import ANYONE, Viewer


@pytest.fixture
def counted(monkeypatch):
    """Return a cache of numbers of cells, and the list of computed studies."""
    monkeypatch.setattr(study_cache, "is_snapshot", lambda: True)
    computed = []

    def count_cells(study):
        computed.append(study)
        return Cell.objects.filter(study=study).count()

    return StudyCache(count_cells), computed


def test_a_study_is_computed_once_until_its_data_change(
    counted, study, submit, run_document, xen
):
    cache, computed = counted
    submit(run_document())

    assert cache.results(ANYONE, [study]) == cache.results(ANYONE, [study]) == [1]
    assert len(computed) == 1
    submit(run_document(system=xen))
    assert cache.results(ANYONE, [study]) == [2]


def test_only_the_changed_study_is_computed_again(counted, study, submit, run_document):
    cache, computed = counted
    other = Study.objects.create(lab=study.lab, slug="other", title="Other")
    cache.results(ANYONE, [study, other])
    submit(run_document())

    assert cache.results(ANYONE, [other, study]) == [0, 1]
    assert computed == [study, other, study]


def test_viewers_do_not_share_entries(counted, study):
    cache, computed = counted
    cache.results(ANYONE, [study])
    cache.results(Viewer(frozenset({study.lab_id})), [study])

    assert len(computed) == 2


def test_a_cached_study_counts_as_read_by_the_page(counted, study):
    cache, _ = counted
    cache.results(ANYONE, [study])
    with track_tables() as tracked, track_tables() as inner:
        cache.results(ANYONE, [study])

    read = {"benchmarks_cell", "benchmarks_study", "benchmarks_lab"}
    assert read <= tracked.tables & inner.tables


def test_nothing_is_kept_outside_of_a_snapshot(db, study):
    computed = []
    cache = StudyCache(computed.append)
    for _ in range(2):
        cache.results(ANYONE, [study])

    assert len(computed) == 2
