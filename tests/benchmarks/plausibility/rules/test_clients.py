from tests.benchmarks.plausibility.cast import findings, run, sample


def client(user, system, duration=560.0):
    readings = [
        sample("client CPU user", user, "s"),
        sample("client CPU system", system, "s"),
        sample("test duration", duration, "s"),
    ]
    return run("httperf", tuple(readings))


def test_a_client_that_polls_is_one_notice_a_system():
    runs = [client(142.92, 411.03), client(146.19, 411.11)]

    [doubt] = findings("client-busy-loop", *runs)

    assert doubt.severity == "check"
    assert len(doubt.subjects) == 2
    assert findings("client-busy-loop", client(14.0, 41.0)) == []


def paused(wsess, duration):
    parameters = {"wsess": wsess}
    return run(
        "httperf", (sample("test duration", duration, "s", parameters=parameters),)
    )


def test_a_duration_that_is_all_pauses_is_one_notice_a_system():
    runs = [paused("4,15,10", 560.076), paused("4,15,10", 560.024)]

    [doubt] = findings("client-think-time", *runs)

    assert doubt.evidence == {"pauses_s": 560, "took_s": [560.076, 560.024]}


def test_a_server_that_needs_time_and_a_client_without_pauses_are_silent():
    assert findings("client-think-time", paused("4,15,10", 812.0)) == []
    assert findings("client-think-time", paused("4,15,0", 560.0)) == []
    assert findings("client-think-time", paused("fast", 560.0)) == []
