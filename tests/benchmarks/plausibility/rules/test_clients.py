from tests.benchmarks.plausibility.small_studies import findings, run, sample


def client(user, system, duration=560.0):
    readings = [
        sample("client CPU user", user, "s"),
        sample("client CPU system", system, "s"),
        sample("test duration", duration, "s"),
    ]
    return run("httperf", tuple(readings))


def test_a_polling_client_is_one_check_per_system():
    runs = [client(142.92, 411.03), client(146.19, 411.11)]

    [finding] = findings("client-busy-loop", *runs)

    assert finding.severity == "check"
    assert len(finding.subjects) == 2
    assert findings("client-busy-loop", client(14.0, 41.0)) == []


def paused(wsess, duration):
    parameters = {"wsess": wsess}
    return run(
        "httperf", (sample("test duration", duration, "s", parameters=parameters),)
    )


def test_a_duration_of_pauses_only_is_one_check_per_system():
    runs = [paused("4,15,10", 560.076), paused("4,15,10", 560.024)]

    [finding] = findings("client-think-time", *runs)

    assert finding.evidence == {"pauses_s": 560, "took_s": [560.076, 560.024]}


def test_a_slow_server_and_a_client_without_pauses_are_not_flagged():
    assert findings("client-think-time", paused("4,15,10", 812.0)) == []
    assert findings("client-think-time", paused("4,15,0", 560.0)) == []
    assert findings("client-think-time", paused("fast", 560.0)) == []
