"""/agents/: the agents of a lab, their tokens and their last runs."""

from benchmarks.labs.members import person_agent
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Token


def test_agents_have_their_last_run_and_last_use(
    api, reader, submit, run_document, study
):
    made = {"python": "3.6.8", "sha256": "0123456789abcdef" * 4}
    submit(run_document(), run_document(facts={"agent": made}))
    api.post("runs/", {})  # rejected, but the token was used

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
    assert token.prefix in {row["prefix"] for row in agent["tokens"]}


def test_secrets_are_never_returned(reader, read_token, token):
    page = reader.get("agents/").content.decode()

    for secret in (read_token, token):
        prefix = secret[3:13]
        assert prefix in page
        assert secret[14:] not in page
    assert not any(
        digest in page for digest in Token.objects.values_list("digest", flat=True)
    )


def test_facts_about_the_agent_may_have_any_type(reader, submit, run_document, study):
    submit(run_document(facts={"agent": "a word"}))

    (agent,) = reader.get("agents/").json()["results"]

    assert (agent["last_run"]["agent_checksum"], agent["last_run"]["python"]) == (
        "",
        "",
    )


def test_people_who_upload_in_the_browser_are_not_listed(reader, lab, person):
    person_agent(lab=lab, user=person)

    assert [row["name"] for row in reader.get("agents/").json()["results"]] == ["alice"]


def test_members_can_list_agents(client, agent, person):
    client.force_login(person)

    (found,) = client.get("/api/v1/agents/").json()["results"]

    assert found["name"] == "alice"


def test_query_count_is_independent_of_agents(reader, lab, django_assert_num_queries):
    reader.get("agents/")  # stores that the token was used
    for number in range(5):
        issue_token(agent=lab.agents.create(name=f"a-{number}"), can_read=True)

    # One query each for agents, tokens and last runs. The token is not read by Django.
    with django_assert_num_queries(3):
        reader.get("agents/")
