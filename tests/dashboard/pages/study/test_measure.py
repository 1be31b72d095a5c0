"""The page with the line that measures a machine."""

import re
import subprocess
import sys

PAGE = "/studies/alpha-lab/study/measure/"


def test_line_enrolls_through_the_api(text, client, person, study):
    client.force_login(person)

    page = text(PAGE)

    code = re.search(r"start.py \| python3 - (\S+)</pre>", page)[1]
    answer = client.post(
        "/api/v1/enrolments/",
        {"code": code, "agent": "rack-7"},
        content_type="application/json",
    )
    assert answer.status_code == 201
    body = answer.json()
    assert body["token"].startswith("vl_")
    assert body["comparison"].endswith("/studies/alpha-lab/study/compare/")


def test_wrong_code_gets_a_sentence(client, study):
    answer = client.post(
        "/api/v1/enrolments/",
        {"code": "x", "agent": "rack-7"},
        content_type="application/json",
    )

    assert answer.status_code == 422
    assert "Measure a machine" in str(answer.json())


def test_script_has_the_address_of_the_server(client, db):
    script = client.get("/agent/start.py").content.decode()

    assert 'SERVER = "http://testserver"' in script
    process = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True
    )
    assert "including its code" in process.stderr
