from benchmarks.analysis.spans import clusters, hull


def test_spans_that_overlap_are_together_also_through_others():
    spans = [(0, 10), (20, 30), (9, 21), (40, 50)]

    assert clusters(spans) == [[0, 1, 2], [3]]


def test_spans_that_only_touch_are_apart():
    assert clusters([(0, 10), (10, 20), (19.95, 30)]) == [[0], [1], [2]]


def test_one_within_another_is_together():
    assert clusters([(0, 100), (1, 2), (50, 60), (100, 110)]) == [[0, 1, 2], [3]]


def test_the_order_does_not_matter():
    spans = [(5, 9), (0, 6), (20, 25), (8, 12)]

    found = {frozenset(spans[i] for i in each) for each in clusters(spans)}

    again = spans[::-1]
    assert found == {frozenset(again[i] for i in each) for each in clusters(again)}


def test_nothing_has_no_clusters():
    assert clusters([]) == []


def test_a_hull_reaches_from_the_first_to_the_last():
    assert hull([(3, 4), (1, 2), (0, 9)]) == (0, 9)
