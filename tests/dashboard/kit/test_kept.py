"""What is made once for a version, a language and whoever looks."""

from django.utils import translation

from dashboard.kit.kept import kept


def test_a_thing_is_made_once_for_each_version_language_and_viewer():
    made = []
    things = kept(lambda who: made.append(who) or len(made))

    assert [things("1", "alice"), things("1", "alice")] == [1, 1]
    assert [things("2", "alice"), things("2", "bob")] == [2, 3]
    with translation.override("de"):
        assert things("2", "bob") == 4
    assert made == ["alice", "alice", "bob", "bob"]


def test_what_failed_is_tried_again():
    answers = iter([ValueError, "made"])

    @kept
    def thing():
        answer = next(answers)
        if answer is ValueError:
            raise ValueError
        return answer

    try:
        thing("1")
    except ValueError:
        assert thing("1") == "made"
