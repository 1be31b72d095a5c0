import pytest

from benchmarks import errors


def test_it_names_the_closest_known_tools():
    error = errors.UnknownNameError("tool", "linpak", ["linpack", "netperf"])

    assert str(error) == (
        'There is no tool "linpak". Did you mean linpack? '
        "The list of tools is in docs/tools.md; a lab declares its own: "
        "POST /api/v1/own-tools/."
    )


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            errors.UnknownNameError("host", "x"),
            "Register the host first: POST /api/v1/hosts/.",
        ),
        (errors.UnknownNameError("study", "x"), "POST /api/v1/studies/."),
        (errors.UnknownNameError("system", "x"), "POST /api/v1/systems/."),
    ],
)
def test_it_says_how_to_make_an_unknown_thing_known(error, remedy):
    assert str(error).endswith(remedy)


def test_it_is_a_conflict_only_to_use_a_key_again():
    assert errors.key_reused("k").status == 409
    assert errors.UnknownNameError("tool", "k").status == 422


def test_it_quotes_what_a_stranger_sent_without_showing_it_raw():
    sentence = str(errors.UnknownNameError("tool", "a\x00\u202eb" + "c" * 5000))

    assert sentence.isprintable()
    assert len(sentence) < 200
    assert "\\x00\\u202e" in sentence


def test_it_finds_the_closest_of_names_in_their_own_spelling():
    assert errors.closest("linpac", ["LINPACK", "netperf"]) == ["LINPACK"]
    assert errors.closest("xyz", ["LINPACK"]) == []
