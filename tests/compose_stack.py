"""Start docker-compose.yml with podman: every key becomes an option, or is an error.

podman-compose 1.6 makes containers that depend on `prepare` require it, and podman 4.3
does not start containers that require an exited one. So this module reads the file
itself: it starts services in the order of their conditions, and runs the health checks.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import yaml

from running.processes import ROOT
from tests.podman import Podman

PATIENCE_S: Final = 120.0
_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\})")
Document = dict[str, Any]


def filled_in(text: str, environment: Mapping[str, str]) -> str:
    """Substitute variables as Compose does; name a missing one."""

    def value(match: "re.Match[str]") -> str:
        dollar, name, operator, word = match.groups()
        if dollar:
            return "$"
        setting = environment.get(name, "")
        if setting or operator is None:
            return setting
        if operator == ":?":
            raise ValueError(f"{name}: {word}")
        return str(word)

    return _VARIABLE.sub(value, text)


class Stack:
    """The networks, volumes and containers of one project."""

    def __init__(
        self,
        podman: Podman,
        name: str,
        environment: Mapping[str, str],
        *more_files: str,
    ) -> None:
        self.podman, self.name, self.environment = podman, name, environment
        files = ["docker-compose.yml", *more_files]
        texts = [(ROOT / file).read_text() for file in files]
        self.document: Document = {}
        for text in texts:
            # Substituted after parsing, as Compose does: no value can become YAML.
            merge(self.document, each_text(yaml.safe_load(text), environment))
        self.services: dict[str, Document] = self.document["services"]
        self.started: list[str] = []

    def container(self, service: str) -> str:
        return f"{self.name}-{service}-1"

    def make(self) -> None:
        """Create the networks and volumes."""
        for name, words in self.document["networks"].items():
            options = ["--internal"] if words.get("internal") else []
            for part in words.get("ipam", {}).get("config", ()):
                options.append(f"--subnet={part['subnet']}")
            self.podman.run("network", "create", *options, f"{self.name}_{name}")
        for name in self.document["volumes"]:
            self.podman.run("volume", "create", f"{self.name}_{name}")

    def up(self, *wanted: str) -> None:
        """Start services and their dependencies, as `docker compose up --detach`."""
        for name in wanted or self.lasting():
            self._start(name)

    def lasting(self) -> list[str]:
        return [
            name for name, words in self.services.items() if "profiles" not in words
        ]

    def _start(self, name: str) -> None:
        if name in self.started:
            return
        for other, words in self.services[name].get("depends_on", {}).items():
            self._start(other)
            self._wait_for(other, words["condition"])
        self.podman.run("run", "--detach", *self.options(name))
        self.started.append(name)

    def _wait_for(self, name: str, condition: str) -> None:
        if condition == "service_healthy":
            self.wait_until_healthy(name)
        elif condition == "service_completed_successfully":
            code = self.podman.text("wait", self.container(name))
            if code != "0":
                raise AssertionError(f"{name} ended with {code}: {self.log(name)}")
        else:
            assert condition == "service_started", condition

    def is_healthy(self, name: str) -> bool:
        checked = ("healthcheck", "run", self.container(name))
        return self.podman.run(*checked, is_fine=(0, 1, 125, 126)).returncode == 0

    def wait_until_healthy(self, *names: str) -> None:
        for name in names:
            wait_for(partial(self.is_healthy, name), partial(self.log, name))

    def log(self, name: str) -> str:
        done = self.podman.run("logs", "--tail=40", self.container(name))
        return (done.stdout + done.stderr).decode(errors="replace")

    def execute(self, name: str, *words: str, input: bytes | None = None) -> bytes:
        """Run a program in a running container, as `docker compose exec -T`."""
        options = ["--interactive"] if input is not None else []
        command = ("exec", *options, self.container(name), *words)
        return self.podman.run(*command, input=input).stdout

    def crash(self, name: str) -> int:
        """Kill the first process of a container as a crash would; return its id.

        After `podman kill` the container would not be restarted.
        """
        pid = int(self.podman.inspect(self.container(name))["State"]["Pid"])
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_until_back(self, name: str, pid: int) -> None:
        """Wait until a container is healthy and runs with another first process."""

        def is_back() -> bool:
            state = self.podman.inspect(self.container(name))["State"]
            return bool(state["Running"]) and state["Pid"] not in (0, pid)

        wait_for(is_back, partial(self.log, name))
        self.wait_until_healthy(name)

    def options(self, service: str) -> list[str]:
        words = self.services[service]
        unknown = words.keys() - _WORDS.keys() - {"image", "command", *_OTHERS}
        assert not unknown, f"{service}: nobody knows {unknown} here"
        options = [f"--name={self.container(service)}", "--pull=never"]
        if words.get("read_only"):
            # Otherwise podman mounts a tmpfs where Compose mounts nothing.
            options.append("--read-only-tmpfs=false")
        for word, value in words.items():
            if word in _WORDS:
                options += _WORDS[word](value)
        options += self._networks(service) + list(self._volumes(service))
        command = words.get("command", [])
        assert isinstance(command, list), "a list needs no quotes"
        return [*options, words["image"], *map(str, command)]

    def _networks(self, service: str) -> list[str]:
        return [
            f"--network={self.name}_{name}:alias={service}"
            # Two files may name the same network.
            for name in dict.fromkeys(self.services[service]["networks"])
        ]

    def _volumes(self, service: str) -> Iterator[str]:
        for volume in self.services[service].get("volumes", ()):
            source, target = volume.split(":", 1)
            is_path = source.startswith((".", "/"))
            path = ROOT / source if is_path else f"{self.name}_{source}"
            yield f"--volume={path}:{target}"


# Handled elsewhere, or ignored (optional settings files; memory, which needs cgroups).
_OTHERS: Final = (
    *("build", "depends_on", "networks", "volumes", "profiles", "env_file"),
    "mem_limit",
)


def _health(check: Document) -> list[str]:
    if check.get("disable"):
        return ["--no-healthcheck"]
    kind, *arguments = check["test"]
    # podman runs a list without a shell.
    command = arguments[0] if kind == "CMD-SHELL" else json.dumps(arguments)
    timing = {name: value for name, value in check.items() if name != "test"}
    assert timing.keys() <= {"interval", "timeout", "start_period", "retries"}, check
    return [
        f"--health-cmd={command}",
        *(
            f"--health-{name.replace('_', '-')}={seconds}"
            for name, seconds in timing.items()
        ),
    ]


def _each(flag: str) -> Callable[[Iterable[Any]], list[str]]:
    return lambda values: [f"--{flag}={value}" for value in values]


def _one(flag: str) -> Callable[[Any], list[str]]:
    return lambda value: [f"--{flag}={str(value).lower()}"]


_WORDS: Final[Mapping[str, Callable[[Any], list[str]]]] = {
    "restart": _one("restart"),
    "cap_drop": _each("cap-drop"),
    "cap_add": _each("cap-add"),
    "security_opt": lambda values: [
        f"--security-opt={value.removesuffix(':true')}" for value in values
    ],
    "read_only": _one("read-only"),
    "tmpfs": _each("tmpfs"),
    "environment": lambda values: [
        f"--env={name}={value}" for name, value in values.items()
    ],
    "ports": _each("publish"),
    "healthcheck": _health,
    "stop_signal": lambda value: [f"--stop-signal={value}"],
    "stop_grace_period": lambda value: [f"--stop-timeout={value.removesuffix('s')}"],
    "shm_size": _one("shm-size"),
}


def each_text(value: Any, environment: Mapping[str, str]) -> Any:
    """Substitute variables in all strings of a document; `null` is an empty mapping."""
    if isinstance(value, str):
        return filled_in(value, environment)
    if isinstance(value, list):
        return [each_text(item, environment) for item in value]
    if isinstance(value, dict):
        return {name: each_text(item, environment) for name, item in value.items()}
    return value


def merge(document: Document, added: Document) -> None:
    """Merge two files: mappings are merged, lists extended, other values replaced."""
    for name, value in added.items():
        existing = document.get(name)
        if isinstance(existing, dict) and isinstance(value, dict):
            merge(existing, value)
        elif isinstance(existing, list) and isinstance(value, list):
            existing += value
        else:
            document[name] = value


def wait_for(
    is_done: Callable[[], object],
    explanation: Callable[[], str] = str,
    patience_s: float = PATIENCE_S,
) -> None:
    deadline = time.monotonic() + patience_s
    while not is_done():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {explanation()}")
        time.sleep(0.3)
