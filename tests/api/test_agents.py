"""/api/v1/agents/: what uploads to one's lab, and what it carries."""

from benchmarks.labs.members import person_agent
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Token


def test_it_tells_where_an_agent_measured_and_when_it_was_seen(
    api, reader, submit, run_document, study
):
    made = {"python": "3.6.8", "sha256": "0123456789abcdef" * 4}
    submit(run_document(), run_document(facts={"agent": made}))
    api.post("runs/", {})  # refused, but its token was used

    (agent,) = reader.get("agents/").json()["results"]

    token = Token.objects.get(can_upload=True)
    assert (agent["name"], agent["lab"]) == ("alice", "alpha-lab")
    assert agent["last_run"] | {"received_at": ""} == {
        "host": "alpha",
        "system": "native Ubuntu Server 9.04 32-bit",
        "received_at": "",
        "agent_checksum": "0123456789ab",
        "python": "3.6.8",
    }
    assert agent["last_seen_at"] is not None
    assert token.prefix in {each["prefix"] for each in agent["tokens"]}


def test_it_never_gives_a_secret_away(reader, read_token, token):
    page = reader.get("agents/").content.decode()

    for secret in (read_token, token):
        prefix = secret[3:13]
        assert prefix in page
        assert secret[14:] not in page
    assert not any(
        digest in page for digest in Token.objects.values_list("digest", flat=True)
    )


def test_what_an_agent_says_of_itself_may_be_anything(
    reader, submit, run_document, study
):
    submit(run_document(facts={"agent": "a word"}))

    (agent,) = reader.get("agents/").json()["results"]

    assert (agent["last_run"]["agent_checksum"], agent["last_run"]["python"]) == (
        "",
        "",
    )


def test_people_who_upload_in_the_browser_are_no_agents(reader, lab, person):
    person_agent(lab=lab, user=person)

    assert [each["name"] for each in reader.get("agents/").json()["results"]] == [
        "alice"
    ]


def test_a_member_reads_them_in_the_browser(client, agent, person):
    client.force_login(person)

    (found,) = client.get("/api/v1/agents/").json()["results"]

    assert found["name"] == "alice"


def test_its_queries_do_not_grow_with_the_agents(
    reader, lab, django_assert_num_queries
):
    reader.get("agents/")  # notes that the token was used
    for number in range(5):
        issue_token(agent=lab.agents.create(name=f"a-{number}"), can_read=True)

    # The agents, their tokens, their last runs; the token's statement is not Django's.
    with django_assert_num_queries(3):
        reader.get("agents/")
