import pytest

from benchmarks import errors


def test_error_suggests_the_closest_tools():
    error = errors.UnknownNameError("tool", "linpak", ["linpack", "netperf"])

    assert str(error) == (
        'No tool "linpak" found. Did you mean linpack? '
        "Known tools are listed in docs/tools.md. A lab can declare custom tools: "
        "POST /api/v1/custom-tools/."
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
def test_error_explains_how_to_register_a_name(error, remedy):
    assert str(error).endswith(remedy)


def test_only_a_reused_key_is_a_conflict():
    assert errors.key_reused_error("k").status == 409
    assert errors.UnknownNameError("tool", "k").status == 422


def test_untrusted_text_is_quoted_safely():
    sentence = str(errors.UnknownNameError("tool", "a\x00\u202eb" + "c" * 5000))

    assert sentence.isprintable()
    assert len(sentence) < 200
    assert "\\x00\\u202e" in sentence


def test_closest_names_keep_their_spelling():
    assert errors.closest_names("linpac", ["LINPACK", "netperf"]) == ["LINPACK"]
    assert errors.closest_names("xyz", ["LINPACK"]) == []
