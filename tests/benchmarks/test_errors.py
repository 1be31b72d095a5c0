import pytest

from benchmarks import errors


def test_it_names_the_closest_known_tools():
    error = errors.UnknownToolError("linpak", ["linpack", "netperf"])

    assert str(error) == (
        'There is no tool "linpak". Did you mean linpack? '
        "The list of tools is in docs/tools.md; a lab declares its own: "
        "POST /api/v1/own-tools/."
    )


def test_it_names_every_metric_of_the_tool():
    error = errors.UnknownMetricError("thruput", "netperf", ["throughput", "rate"])

    assert str(error) == (
        'There is no metric of netperf called "thruput". Did you mean throughput? '
        "The metrics of netperf are: throughput, rate."
    )


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (errors.UnknownHostError("x"), "Register the host first: POST /api/v1/hosts/."),
        (errors.UnknownStudyError("x"), "POST /api/v1/studies/."),
        (errors.UnknownSystemError("x"), "POST /api/v1/systems/."),
    ],
)
def test_it_says_how_to_make_an_unknown_thing_known(error, remedy):
    assert str(error).endswith(remedy)


def test_it_is_a_conflict_only_to_use_a_key_again():
    assert errors.KeyReusedError("k").status == 409
    assert errors.UnknownToolError("k").status == 422


def test_it_quotes_what_a_stranger_sent_without_showing_it_raw():
    sentence = str(errors.UnknownToolError("a\x00\u202eb" + "c" * 5000))

    assert sentence.isprintable()
    assert len(sentence) < 200
    assert "\\x00\\u202e" in sentence


def test_it_finds_the_closest_of_names_in_their_own_spelling():
    assert errors.closest("linpac", ["LINPACK", "netperf"]) == ["LINPACK"]
    assert errors.closest("xyz", ["LINPACK"]) == []
