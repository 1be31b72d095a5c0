"""Reading of request bodies, with limits on length and compression."""

import zlib
from typing import IO, BinaryIO, cast

from django.conf import settings
from django.http import HttpRequest

from api.kit.errors import malformed_error, too_large_error
from benchmarks.errors import MalformedError, TooLargeError

CHUNK_BYTES = 64 * 1024
MIN_BYTES_FOR_RATIO_LIMIT = 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
# Adding 16 selects the gzip format in zlib.
GZIP_WINDOW = 16 + zlib.MAX_WBITS


class UnsupportedEncodingError(MalformedError):
    status = 415


def open_body(request: HttpRequest) -> BinaryIO:
    """Return the stream of a body, which may be chunked.

    Django would read nothing of a chunked body, because it reads as many bytes as
    Content-Length states. A server that detects the end of the body itself sets
    ``wsgi.input_terminated``.
    """
    environ = request.META
    if not environ.get("CONTENT_LENGTH") and environ.get("wsgi.input_terminated"):
        return cast(BinaryIO, environ["wsgi.input"])
    return cast(BinaryIO, request)  # a request can be read like a file


def read_body(stream: IO[bytes], request: HttpRequest) -> bytes:
    """Return the decompressed body; raise if it is too large or damaged."""
    raw, is_gzip = read_packed_body(stream, request)
    return decompress(raw) if is_gzip else raw


def read_packed_body(stream: IO[bytes], request: HttpRequest) -> tuple[bytes, bool]:
    """Return the body as it was sent, and whether it is compressed."""
    text = request.META.get("CONTENT_LENGTH") or ""
    declared_length = None
    if text:
        if not (text.isascii() and text.isdigit()):
            raise malformed_error("Content-Length is not a whole number.")
        # The length is checked first, because int() refuses thousands of digits.
        if len(text) > 18 or int(text) > settings.UPLOAD_LIMIT_BYTES:
            raise _limit_exceeded()
        declared_length = int(text)
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise UnsupportedEncodingError(
            "unsupported_encoding",
            "Only Content-Encoding: gzip is supported. "
            "Send the body uncompressed, or compressed once with gzip.",
        )
    raw = _read_bounded(stream)
    if declared_length is not None and len(raw) < declared_length:
        raise malformed_error(
            f"The body ended after {len(raw):,} of the {declared_length:,} bytes that "
            "Content-Length states. Send it again."
        )
    return raw, "gzip" in encoding


def decompress(compressed: bytes) -> bytes:
    """Unpack a body of one gzip member; raise if it exceeds a limit or is damaged."""
    if not compressed.startswith(GZIP_MAGIC):
        raise malformed_error(
            "The body is not gzip, although Content-Encoding is gzip. "
            "Compress it, or omit the header."
        )
    reader = zlib.decompressobj(GZIP_WINDOW)
    try:
        body = reader.decompress(compressed, settings.UPLOAD_LIMIT_BYTES + 1)
    except zlib.error:
        raise malformed_error("The gzip body is damaged. Compress it again.") from None
    consumed = len(compressed) - len(reader.unconsumed_tail)
    # The ratio does not matter up to 1 MiB.
    if len(body) > max(
        settings.UPLOAD_LIMIT_RATIO * consumed, MIN_BYTES_FOR_RATIO_LIMIT
    ):
        raise too_large_error(
            "The gzip body unpacks to more than "
            f"{settings.UPLOAD_LIMIT_RATIO} times its size. Send it uncompressed."
        )
    if len(body) > settings.UPLOAD_LIMIT_BYTES:
        raise _limit_exceeded()
    if not reader.eof:
        raise malformed_error("The gzip body is truncated. Send the complete body.")
    if reader.unused_data:
        raise malformed_error(
            "The gzip body is followed by more data. Compress everything together."
        )
    if body.startswith(GZIP_MAGIC):
        raise malformed_error("The body is compressed twice. Compress it once.")
    return body


def _read_bounded(stream: IO[bytes]) -> bytes:
    limit = settings.UPLOAD_LIMIT_BYTES
    body = bytearray()
    try:
        while chunk := stream.read(min(CHUNK_BYTES, limit + 1 - len(body))):
            body += chunk
            if len(body) > limit:
                raise _limit_exceeded()
    # Some web servers let the application read from the connection.
    except OSError:
        raise malformed_error(
            "The connection was closed before the end of the body. Send it again."
        ) from None
    return bytes(body)


def _limit_exceeded() -> TooLargeError:
    return too_large_error(
        f"A body may have at most {settings.UPLOAD_LIMIT_BYTES:,} bytes, also after "
        "decompression. Split it into several uploads."
    )
