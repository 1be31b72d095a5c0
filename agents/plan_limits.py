"""The limits that this machine sets to plans of the server (docs/agents.md).

They are read from /etc/virtlab-agent/allow.conf, or without this file from allow.conf
in the agent's folder. Otherwise plans may run all tools in the working directory, but
use no device and no other machine.
"""

import configparser
import ipaddress
import os
from typing import Any, Dict, List, NamedTuple, Tuple

from agents.errors import UsageError
from agents.local_state import agent_folder

PATH_VARIABLE = "VIRTLAB_ALLOW"
_NAME = "allow.conf"
_SECTION = "plans"
_LISTS = ("tools", "folders", "devices", "peers")
_NUMBERS = ("threads", "seconds", "file-mib")
# Options of a plan and the limits that apply to them.
_BOUNDS = (
    *(("threads", "threads"), ("seconds", "seconds"), ("budget_s", "seconds")),
    *(("file_mib", "file-mib"), ("array_mib", "file-mib")),
)


class PlanLimits(NamedTuple):
    source: str
    lists: Dict[str, Tuple[str, ...]]
    most: Dict[str, int]


def default_limits(source: str) -> PlanLimits:
    lists: Dict[str, Tuple[str, ...]] = dict.fromkeys(_LISTS, ())
    threads = max(4, 2 * (os.cpu_count() or 1))
    most = {"threads": threads, "seconds": 3600, "file-mib": 65536}
    return PlanLimits(source, dict(lists, tools=("*",)), most)


def limits_path() -> str:
    """Return the file of this machine, or of this user if the machine has none."""
    given = os.environ.get(PATH_VARIABLE)
    if given:
        return given
    top = os.environ.get("PROGRAMDATA", "") if os.name == "nt" else "/etc"
    path = os.path.join(top, "virtlab-agent", _NAME)
    return path if os.path.exists(path) else os.path.join(agent_folder(), _NAME)


def load_limits() -> PlanLimits:
    """Raise UsageError if the file is unreadable or wrong."""
    limits = default_limits(limits_path())
    if not os.path.exists(limits.source):
        return limits
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with open(limits.source, encoding="utf-8") as file:
            parser.read_file(file)
        given = dict(parser[_SECTION]) if parser.has_section(_SECTION) else {}
    except OSError as error:
        raise UsageError("%s: %s" % (limits.source, error.strerror)) from None
    except (configparser.Error, UnicodeDecodeError) as error:
        first = str(error).partition("\n")[0]
        raise UsageError("%s: %s" % (limits.source, first)) from None
    for name, text in given.items():
        if name in _LISTS:
            limits.lists[name] = tuple(text.split())
        elif name in _NUMBERS and text.isdigit() and int(text) > 0:
            limits.most[name] = int(text)
        else:
            known = ", ".join(_LISTS + _NUMBERS)
            raise UsageError(
                '%s: "%s = %s" is not a limit. There are lists and whole numbers: %s.'
                % (limits.source, name, text, known)
            )
    return limits


def refusal(tool: str, options: Dict[str, Any], limits: PlanLimits) -> str:
    """Return why this machine does not allow a tool with these options, or ""."""
    lists = limits.lists
    forbidden: List[Tuple[str, str]] = []
    if not {"*", tool} & set(lists["tools"]):
        forbidden.append(("the tool %s" % tool, "tools"))
    folder = options.get("folder")
    if folder and not _is_inside(str(folder), lists["folders"]):
        forbidden.append(("files in %s" % folder, "folders"))
    device = options.get("device")
    if device and str(device) not in lists["devices"]:
        forbidden.append(("the device %s" % device, "devices"))
    peer = options.get("peer")
    if peer and not _is_peer(str(peer), lists["peers"]):
        forbidden.append(("network load to %s" % peer, "peers"))
    for option, limit in _BOUNDS:
        value = options.get(option, 0)
        if not isinstance(value, int) or value > limits.most[limit]:
            words = "more than %d %s" % (limits.most[limit], limit)
            forbidden.append(("%s (%s)" % (words, value), limit))
    if not forbidden:
        return ""
    what = " and ".join(words for words, _ in forbidden)
    names = ", ".join(sorted({name for _, name in forbidden}))
    return (
        "This machine does not allow plans %s. A person can allow it on this machine, "
        "in %s (%s)." % (what, limits.source, names)
    )


def _is_inside(folder: str, allowed: Tuple[str, ...]) -> bool:
    """Return whether a folder is the working directory, an allowed one, or below."""
    if folder == ".":
        return True
    real = os.path.realpath(folder)
    tops = [os.path.realpath(top) for top in (".", *allowed)]
    return any(
        real == top or real.startswith(top.rstrip(os.sep) + os.sep) for top in tops
    )


def _is_peer(peer: str, allowed: Tuple[str, ...]) -> bool:
    host = _host(peer)
    if {peer, host} & set(allowed):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a name, which may lead anywhere: only as listed
        return False
    return any(address in network for network in map(_network, allowed) if network)


def _host(peer: str) -> str:
    if peer.startswith("["):
        return peer[1:].partition("]")[0]
    host, colon, port = peer.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else peer


def _network(text: str) -> Any:
    try:
        return ipaddress.ip_interface(text).network
    except ValueError:
        return None
