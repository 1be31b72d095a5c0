"""The network peer; its interface needs root, which `make testbed-short` has."""

import socket

import pytest

from testbed import TestbedError
from testbed.virtlab_server import require_peer


def test_listening_peer_is_accepted():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        require_peer(*listening.getsockname())
        with listening.accept()[0] as connection:
            assert connection.recv(1) == b""


def test_unreachable_peer_is_explained():
    with pytest.raises(TestbedError, match=r"127.0.0.1:9 cannot be reached.*ip link"):
        require_peer("127.0.0.1", 9)
