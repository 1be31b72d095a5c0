"""Two installations are compared by what they answer, not by how they number it."""

import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from bench.answers.__main__ import main
from bench.answers.asking import Server, Survey

XEN = {
    "id": 7,
    "lab": "first-lab",
    "host": "alpha",
    "hypervisor": "Xen",
    "created_at": "2026-01-01T00:00:00Z",
}
ROW = {
    "id": 31,
    "campaign": "study",
    "system_id": 7,
    "case_id": 4,
    "kind": "efficiency",
    "value": 0.1 + 0.2,
    "verdict": "refused",
    "reason": "There is only one run.",
    "reasons": ["single_run"],
    "facts": {"campaign": "refused"},
    "page": "http://localhost/campaigns/first-lab/study/cells/31/?baseline=7",
}
FLAG = {
    "id": 2,
    "campaign": "study",
    "rule": "unit-slip",
    "sentence": "1024 times too much.",
    "subjects": [{"kind": "cell", "id": "31"}],
    "evidence": {"reference_system": "7", "ratio": 1103.7},
}
CSV = "id,system_id,value,verdict,reasons\r\n31,7,0.3,refused,single_run; stale\r\n"
TEX = "\n".join(
    (
        r"\begin{tabular}{lrr}",
        r"Type & \multicolumn{2}{c}{\parbox[t]{94.0pt}{full}} \\",
        r"read & \textit{14,554.8} & 0.996\textsuperscript{a} \\",
        r"\end{tabular}",
    )
)


def rows(*found):
    return {"next": None, "previous": None, "results": [*copy.deepcopy(found)]}


def answers(**changes):
    """Return a small folder's files: a system, a case, two cells, a flag, exports."""
    study = "first-lab/study"
    files = {
        "systems": {"": rows(XEN, {**XEN, "id": 8, "hypervisor": "native"})},
        "cases": {"": rows({"id": 4, "tool": "fio", "metric": "rate"})},
        "cells": {"": rows({"id": 31, "system_id": 7}, {"id": 32, "system_id": 8})},
        "flags": {"": rows(FLAG)},
        f"{study}/comparisons": {"": rows(ROW), "?baseline=7": rows(ROW)},
        f"{study}/compare.csv": {"": CSV},
        f"{study}/compare.tex": {"": TEX},
    }
    return {**files, **{name.replace("__", "/"): it for name, it in changes.items()}}


@pytest.fixture
def folder(tmp_path):
    def write(name, files):
        for file, found in files.items():
            path = tmp_path / name / f"{file}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
        return str(tmp_path / name)

    return write


@pytest.fixture
def compared(folder, capsys):
    """Compare two folders' files; return the exit code and the lines."""

    def compare(old, new, *options):
        code = main(["compare", folder("old", old), folder("new", new), *options])
        return code, capsys.readouterr().out

    return compare


def renumbered(files):
    """Return the same with other ids, as another installation has them."""
    text = json.dumps(files)
    for old, new in ((7, 70), (8, 7), (31, 32), (32, 31), (4, 40)):
        for form in ('_id": {}', '"id": {}', '"id": "{}"', '_system": "{}"'):
            text = text.replace(form.format(old), form.format(f"<{new}>"))
        text = text.replace(f"cells/{old}/", f"cells/<{new}>/")
        text = text.replace(f"baseline={old}", f"baseline=<{new}>")
    text = text.replace("\\n31,7,", "\\n32,70,")
    return json.loads(text.replace("<", "").replace(">", ""))


def test_what_is_the_same_has_no_difference(compared):
    code, said = compared(answers(), answers())

    assert code == 0
    assert "\n0 differences" in said


def test_other_ids_make_no_difference(compared):
    other = renumbered(answers())
    assert other["first-lab/study/comparisons"]["?baseline=70"]

    code, said = compared(answers(), other)

    assert (code, "\n0 differences" in said) == (0, True), said


def test_an_upgraded_installation_keeps_its_ids(compared):
    assert compared(answers(), renumbered(answers()), "--upgraded")[0] == 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"value": 0.3}, "comparisons?.results[].value: float -> float"),
        (
            {"verdict": "slower"},
            "comparisons?.results[].verdict: 'refused' -> 'slower'",
        ),
        ({"reasons": []}, "comparisons?.results[].reasons: length"),
        ({"value": None}, "comparisons?.results[].value: float -> NoneType"),
        ({"system_id": 8}, "comparisons?.results[]: only in new"),
        ({"noise": 1}, "comparisons?.results[].noise: only in new"),
    ],
)
def test_a_changed_answer_is_named(compared, change, line):
    new = answers()
    new["first-lab/study/comparisons"][""]["results"][0].update(change)

    code, said = compared(answers(), new)

    assert code == 1
    assert line in said


def test_the_last_digit_counts_unless_fewer_are_asked_for(compared):
    new = answers()
    new["first-lab/study/comparisons"][""]["results"][0]["value"] = 0.3

    assert compared(answers(), new)[0] == 1
    assert compared(answers(), new, "--digits", "12")[0] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.3", "0.30000000000000004"), ("7", "8"), ("stale", "other_session")],
)
def test_fields_of_a_csv_are_compared_as_what_they_are(compared, old, new):
    csv = "first-lab/study/compare.csv"
    code, said = compared(answers(), answers(**{csv: {"": CSV.replace(old, new)}}))

    assert code == 1
    assert "compare.csv?[]" in said


def test_a_flag_of_another_cell_is_another_flag(compared):
    elsewhere = {**FLAG, "subjects": [{"kind": "cell", "id": "32"}]}

    code, said = compared(answers(), answers(flags={"": rows(elsewhere)}))

    assert code == 1
    assert "1 flags?.results[]: only in old" in said


def test_rows_in_another_order_are_a_difference_of_order_only(compared):
    files = answers()
    turned = copy.deepcopy(files)
    turned["systems"][""]["results"].reverse()

    _, said = compared(files, turned)

    assert "1 systems?.results: order" in said
    assert "\n1 differences" in said


def test_sentences_count_only_if_asked_for(compared):
    new = answers(flags={"": rows({**FLAG, "sentence": "A thousand times too much."})})

    assert compared(answers(), new)[0] == 0
    assert compared(answers(), new, "--sentences")[0] == 1


def test_the_layout_of_latex_does_not_count_but_its_figures_do(compared):
    wider = TEX.replace("94.0pt", "120pt").replace(r"\textsuperscript{a}", "")
    study = "first-lab__study__compare.tex"

    assert compared(answers(), answers(**{study: {"": wider}}))[0] == 0
    wrong = wider.replace("0.996", "0.997")
    assert compared(answers(), answers(**{study: {"": wrong}}))[0] == 1


def test_moments_of_the_server_count_where_it_is_the_same_one(compared):
    later = rows({**XEN, "created_at": "2026-02-02T00:00:00Z"})
    old, new = answers(systems={"": rows(XEN)}), answers(systems={"": later})

    assert compared(old, new)[0] == 0
    assert compared(old, new, "--upgraded")[0] == 1


RENAMED = {
    "paths": {"campaigns": "studies"},
    "keys": {"campaign": "study"},
    "values": {"verdict": {"refused": "not_assessed"}, "reasons": {"stale": "old"}},
}


@pytest.fixture
def renamed():
    """Return today's files for those of `answers`, in the words of `RENAMED`."""
    text = json.dumps(answers()).replace('"refused"', '"not_assessed"')
    text = text.replace('"campaign":', '"study":').replace("/campaigns/", "/studies/")
    text = text.replace("refused,single_run; stale", "not_assessed,single_run; old")
    text = text.replace('{"study": "not_assessed"}', '{"campaign": "refused"}')
    return json.loads(text)


def test_old_words_are_told_in_new_ones(compared, renamed, tmp_path):
    mapping = tmp_path / "renamed.json"
    mapping.write_text(json.dumps(RENAMED))

    assert compared(answers(), renamed)[0] == 1
    code, said = compared(answers(), renamed, "--renamed", str(mapping))
    assert code == 0, said


def test_a_word_may_depend_on_the_rest_of_its_row(compared, tmp_path):
    rule = {"where": {"reasons": "single_run"}, "set": {"verdict": "baseline"}}
    mapping = tmp_path / "renamed.json"
    mapping.write_text(json.dumps({"rows": [rule]}))
    text = json.dumps(answers()).replace(
        '"verdict": "refused"', '"verdict": "baseline"'
    )
    new = json.loads(text.replace(",refused,single_run", ",baseline,single_run"))

    assert compared(answers(), new)[0] == 1
    assert compared(answers(), new, "--renamed", str(mapping))[0] == 0


SCHEMA = {
    "campaigns/": ["cursor"],
    "campaigns/{slug}/": ["slug"],
    "systems/": ["campaign", "cursor"],
    "cells/": ["campaign", "cursor"],
    "comparisons/": ["campaign", "cursor", "baseline", ("scenario", ["single", "all"])],
    "history/": ["campaign!", "case", "host"],
    "influence/": ["campaign!", ("response", ["a", "b"]), ("component", ["CPU"])],
    "health/": [],
}
LISTS = {
    "campaigns": [{"id": 1, "lab": "first-lab", "slug": "study"}],
    "systems": [{"id": 7}, {"id": 8}, {"id": 9}],
    "cells": [{"id": 31}],
    "comparisons": [{"id": 31}],
    "history": [{"case_id": 4, "host": "alpha"}],
}


def schema():
    """Return the API's document as far as it is read."""

    def parameter(told):
        name, values = told if isinstance(told, tuple) else (told, None)
        kind = {"enum": values} if values else {"type": "string"}
        return {
            "name": name.rstrip("!"),
            "required": name.endswith("!"),
            "schema": kind,
        }

    return {
        "paths": {
            f"/api/v1/{path}": {
                "get": {"parameters": [parameter(each) for each in parameters]}
            }
            for path, parameters in SCHEMA.items()
        }
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        url = urlsplit(self.path)
        self.server.asked.append(self.path)
        name, query = url.path.removeprefix("/api/v1/").strip("/"), parse_qs(url.query)
        if "compare.tex" in name:
            return self.say(404, {"code": "not_found"})
        if name == "schema":
            return self.say(200, schema())
        found = LISTS.get(name, [])
        # Two rows a page.
        at = int(query.get("cursor", ["0"])[0])
        further = f"http://elsewhere{url.path}?cursor={at + 2}"
        is_more = len(found) > at + 2
        page = {"next": further if is_more else None, "results": found[at : at + 2]}
        return self.say(200, page)

    def say(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def survey(server):
    survey = Survey(Server(f"http://127.0.0.1:{server.server_port}"))
    survey.make()
    survey.server.close()
    return survey


def test_lists_are_read_to_their_end(survey):
    assert survey.answers["systems"][""]["results"] == LISTS["systems"]


def test_each_study_is_asked_by_each_value_of_each_filter(survey):
    assert survey.answers["first-lab/study/comparisons"].keys() == {
        "",
        "?scenario=single",
        "?scenario=all",
        *(f"?baseline={system}" for system in (7, 8, 9)),
    }


def test_what_is_computed_as_a_whole_is_asked_by_two_filters_together(survey):
    questions = survey.answers["first-lab/study/influence"].keys()

    assert {"?response=a", "?response=a&component=CPU"} < questions


def test_what_rows_name_is_asked_for(survey):
    questions = survey.answers["first-lab/study/history"].keys()

    assert "?case=4&host=alpha" in questions


def test_details_and_files_are_asked_for(survey):
    answers = survey.answers

    assert "campaigns/first-lab/study/" in answers["campaigns/{slug}"]
    assert "cells/31/samples.csv" in answers["first-lab/study/samples.csv"]
    assert "?show=energy&baseline=8" in answers["first-lab/study/compare.csv"]


def test_a_refusal_is_kept_as_its_status(survey):
    assert survey.answers["first-lab/study/compare.tex"][""] == {"status": 404}


def test_what_tells_of_the_moment_is_not_asked(survey, server):
    assert not [address for address in server.asked if "health" in address]


def test_it_writes_a_file_for_each_address(server, tmp_path, capsys):
    main(["write", f"http://127.0.0.1:{server.server_port}", str(tmp_path)])

    assert json.loads((tmp_path / "cells.json").read_text())[""]["results"]
    assert "answers in" in capsys.readouterr().out
