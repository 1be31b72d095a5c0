"""The certificates that this machine trusts."""

import os
import re
from typing import Any, List

_CONTEXTS: List[Any] = []
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")


def trusted() -> Any:
    """Return an SSL context of the certificates this machine trusts, for all alike.

    Python reads the whole of them anew for every connection that is given none: 25 ms
    and a megabyte, which a daemon pays with each run that it sends.
    """
    import ssl

    if not _CONTEXTS:
        # Named by their hashes, they are read one by one when a server shows one.
        folder = folder_of(ssl.get_default_verify_paths()) or None
        _CONTEXTS.append(ssl.create_default_context(capath=folder))
    return _CONTEXTS[0]


def folder_of(paths: Any) -> str:
    """Return the folder of all trusted certificates by their hashes; empty without one.

    It must have as many as the file that OpenSSL would read, and nobody may have named
    another file or folder (``SSL_CERT_FILE``, ``SSL_CERT_DIR``).
    """
    named = (paths.openssl_cafile_env, paths.openssl_capath_env)
    if not (paths.cafile and paths.capath) or any(map(os.environ.get, named)):
        return ""
    try:
        with open(paths.cafile, "rb") as file:
            wanted = sum(line.startswith(b"-----BEGIN") for line in file)
        found = sum(map(bool, map(_HASHED.fullmatch, os.listdir(paths.capath))))
    except OSError:
        return ""
    return str(paths.capath) if 0 < wanted <= found else ""
