"""Everything that a running installation says of its studies, asked through HTTP.

What can be asked is read from the API's own document: each list to its end, each study
by each value of each filter, each thing by its id; besides, what the compare pages hand
out. So a new address is asked without a change here.
"""

import hashlib
import http.client
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

Document = dict[str, Any]

API: Final = "/api/v1/"
# They tell of the moment or of the product, not of the studies.
NOT_ASKED: Final = ("health", "time", "schema", "docs")
# The list of studies and a query's word for one, in this version and before it.
STUDIES: Final = (("studies", "study"), ("campaigns", "campaign"))
PAGE_SIZE: Final = 1000
WAIT_S: Final = 300
WAITING_W: Final = "100"  # any power will do: it brings figures that are null without
SHOWN: Final = ("", "overhead", "value", "energy")
FORMS: Final = ("csv", "json", "tex")


@dataclass
class Server:
    """A running installation, as a reader with a token sees it."""

    url: str
    token: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        is_safe = parts.scheme == "https"
        client = http.client
        connect = client.HTTPSConnection if is_safe else client.HTTPConnection
        self.connection = connect(parts.netloc, timeout=WAIT_S)
        # Without its port, so that the addresses in answers are the same everywhere.
        self.headers = {"Host": parts.hostname or "", "Accept": "*/*"}
        if self.token:
            self.headers["Authorization"] = f"Token {self.token}"

    def close(self) -> None:
        self.connection.close()

    def answer(self, address: str) -> Any:
        """Return an answer: JSON as it is, other texts, or a refusal's status."""
        self.connection.request("GET", address, headers=self.headers)
        response = self.connection.getresponse()
        body = response.read()
        kind = response.headers.get_content_type()
        if response.status != http.HTTPStatus.OK:
            return {"status": response.status}
        if kind.endswith("json"):
            return json.loads(body)
        try:
            return body.decode()
        except UnicodeDecodeError:
            # No text: only whether it is the same can be told.
            return {"sha256": hashlib.sha256(body).hexdigest()}

    def whole(self, address: str) -> Any:
        """Return an answer, of a list all pages in one."""
        answer = page = self.answer(address)
        while isinstance(page, dict) and page.get("next"):
            further = urlsplit(page["next"])
            page = self.answer(f"{further.path}?{further.query}")
            answer["results"] += page["results"]
        if isinstance(answer, dict) and "next" in answer:
            answer["next"] = None
        return answer


@dataclass
class Survey:
    """Everything that is asked of one server, kept by file and question."""

    server: Server
    answers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def make(self) -> None:
        """Ask for lists, then for what they name, then for files of pages."""
        schema = self.server.answer(f"{API}schema/")["paths"]
        paths = {
            path.removeprefix(API).strip("/"): {
                each["name"]: each for each in methods["get"].get("parameters", [])
            }
            for path, methods in schema.items()
            if "get" in methods
        }
        self.studies, self.study = next(words for words in STUDIES if words[0] in paths)
        lists = [path for path in paths if "{" not in path and path not in NOT_ASKED]
        # The studies first: the others are asked about each of them.
        for path in sorted(lists, key=lambda path: path != self.studies):
            self._list(path, paths[path])
        for path in paths:
            if "{" in path:
                self._details(path, paths[path])
        for study in self._rows(self.studies):
            self._files(study)

    def _rows(self, file: str) -> list[Document]:
        rows: list[Document] = self.answers[file][""]["results"]
        return rows

    def _ask(self, file: str, question: str, address: str) -> Any:
        answer = self.server.whole(address)
        self.answers[file][question] = answer
        return answer

    def _list(self, path: str, parameters: Document) -> None:
        """Ask an address as it is, then for each study with what narrows it."""
        sized = {"page_size": str(PAGE_SIZE)} if "cursor" in parameters else {}
        if not parameters.get(self.study, {}).get("required"):
            self._ask(path, "", f"{API}{path}/?{urlencode(sized)}")
        if self.study not in parameters:
            return
        for study in self._rows(self.studies):
            name = f"{study['lab']}/{study['slug']}"
            file, about = f"{name}/{path}", {**sized, self.study: name}
            first = self._ask(file, "", f"{API}{path}/?{urlencode(about)}")
            for query in self._queries(parameters, name, first):
                address = f"{API}{path}/?{urlencode(about | query)}"
                self._ask(file, f"?{urlencode(query)}", address)

    def _queries(
        self, parameters: Document, study: str, first: Any
    ) -> Iterator[dict[str, str]]:
        """Yield each value of each filter; of answers that are one, each two of them.

        A list's filters leave out rows, one as well as two; what is computed as a whole
        may depend on both.
        """
        values = [
            [(name, str(value)) for value in parameter["schema"]["enum"]]
            for name, parameter in parameters.items()
            if "enum" in parameter["schema"]
        ]
        for choices in values:
            yield from ({name: value} for name, value in choices)
        if "baseline" in parameters:
            for system in self._systems(study):
                yield {"baseline": system}
        if "waiting_w" in parameters:
            yield {"waiting_w": WAITING_W}
        if "cursor" in parameters:
            return
        for one, other in combinations(values, 2):
            yield from (dict((a, b)) for a in one for b in other)
        yield from _named(parameters, first)

    def _systems(self, study: str) -> list[str]:
        query = {self.study: study, "page_size": str(PAGE_SIZE)}
        rows = self.server.whole(f"{API}systems/?{urlencode(query)}")["results"]
        return [str(row["id"]) for row in rows]

    def _details(self, path: str, parameters: Document) -> None:
        """Ask for each thing of a list by its id or name, in each form there is."""
        place = path.split("/{")[0]
        names = re.findall(r"{(\w+)}", path)
        for row in self._rows(place):
            known = {"id": str(row["id"])}
            if "slug" in row:
                known["slug"] = quote(f"{row['lab']}/{row['slug']}")
            forms = parameters.get("form", {}).get("schema", {}).get("enum", [""])
            for form in forms:
                values = known | ({"form": form} if form else {})
                if set(names) <= set(values):
                    address = f"{API}{path.format(**values)}/"
                    sized = f"?page_size={PAGE_SIZE}" if "cursor" in parameters else ""
                    self._ask(path, address.removeprefix(API), address + sized)

    def _files(self, study: Document) -> None:
        """Ask for what the compare page of a study, its cells and its citation give."""
        name = f"{study['lab']}/{study['slug']}"
        page = f"/{self.studies}/{name}/"
        for form in FORMS:
            for query in self._looks(name):
                question = f"?{urlencode(query)}" if query else ""
                self._ask(
                    f"{name}/compare.{form}",
                    question,
                    f"{page}compare.{form}{question}",
                )
        for form in ("bib", "csl.json"):
            self._ask(f"{name}/cite.{form}", "", f"{page}cite.{form}")
        for cell in self.answers[f"{name}/cells"][""]["results"]:
            place = f"cells/{cell['id']}/samples.csv"
            self._ask(f"{name}/samples.csv", place, page + place)

    def _looks(self, study: str) -> Iterator[dict[str, str]]:
        systems = self._systems(study)
        for show in SHOWN:
            shown = {"show": show} if show else {}
            yield shown
            yield shown | {"scenario": "all"}
            yield from (shown | {"baseline": system} for system in systems)
        if len(systems) > 1:
            yield {"pin": ",".join(systems[:2])}

    def write(self, folder: Path) -> int:
        """Write a file for each address; return how many answers there are."""
        for name, answers in self.answers.items():
            path = folder / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(answers, sort_keys=True, indent=1, ensure_ascii=False)
            path.write_text(f"{text}\n")
        return sum(map(len, self.answers.values()))


def _named(parameters: Document, answer: Any) -> Iterator[dict[str, str]]:
    """Yield what an answer's rows name and its address can be asked for."""
    free = [
        name
        for name, parameter in parameters.items()
        if not parameter.get("required") and "enum" not in parameter["schema"]
    ]
    asked = set()
    for row in answer.get("results", []) if free else []:
        values = {name: row.get(f"{name}_id", row.get(name)) for name in free}
        query = {name: str(value) for name, value in values.items() if value}
        if query and tuple(query.items()) not in asked:
            asked.add(tuple(query.items()))
            yield query
