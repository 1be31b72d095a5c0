"""Cache of function results by version, language and viewer."""

from django.utils import translation

from dashboard.kit.page_cache import cached_by_version


def test_results_are_cached_by_version_language_and_viewer():
    made = []
    things = cached_by_version(lambda who: made.append(who) or len(made))

    assert [things("1", "alice"), things("1", "alice")] == [1, 1]
    assert [things("2", "alice"), things("2", "bob")] == [2, 3]
    with translation.override("de"):
        assert things("2", "bob") == 4
    assert made == ["alice", "alice", "bob", "bob"]


def test_errors_are_not_cached():
    answers = iter([ValueError, "made"])

    @cached_by_version
    def thing():
        answer = next(answers)
        if answer is ValueError:
            raise ValueError
        return answer

    try:
        thing("1")
    except ValueError:
        assert thing("1") == "made"
