"""Decoding of the parameters of an HTTP request: query strings and the two kinds of forms."""

import re
from email.parser import BytesHeaderParser
from urllib.parse import parse_qsl

MAX_FIELDS = 100
URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def decode_query(query: str) -> dict[str, str]:
    """Decode `a=1&b=2`; of several values of a name, the last one counts. Raises ValueError."""
    if not query:
        return {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise ValueError("a parameter is not valid UTF-8") from None
    except ValueError:
        raise ValueError(f"there are more than {MAX_FIELDS} parameters") from None
    return dict(pairs)


def decode_form(content_type: str, body: bytes) -> dict[str, str]:
    """Decode the body of a POST request; see `decode_query`. Raises ValueError."""
    if content_type == URL_ENCODED:  # Most clients send no parameters that must be parsed.
        return decode_query(_decode(body))
    header = BytesHeaderParser().parsebytes(
        b"Content-Type: " + " ".join(content_type.split()).encode("latin-1", "replace")
    )
    kind = header.get_content_type() if content_type else ""
    if kind == URL_ENCODED:
        return decode_query(_decode(body))
    if kind == MULTIPART:
        boundary = header.get_boundary()
        if not boundary:
            raise ValueError("the multipart form has no boundary")
        return _decode_multipart(boundary.encode("latin-1", "replace"), body)
    raise ValueError(f"the body must be {URL_ENCODED} or {MULTIPART}")


def _decode_multipart(boundary: bytes, body: bytes) -> dict[str, str]:
    """Decode a form as RFC 7578 describes it. File names of parts are ignored."""
    lines = re.compile(rb"(?:\A|\r?\n)--" + re.escape(boundary) + rb"(--)?[ \t]*(?:\r?\n|\Z)")
    values: dict[str, str] = {}
    start = -1  # of the current part
    for line in lines.finditer(body):
        if start >= 0:
            name, value = _decode_part(body[start : line.start()])
            values[name] = value
            if len(values) > MAX_FIELDS:
                raise ValueError(f"there are more than {MAX_FIELDS} parameters")
        if line[1]:
            return values
        start = line.end()
    raise ValueError("the multipart form is incomplete: its last boundary is missing")


def _decode_part(part: bytes) -> tuple[str, str]:
    head, separator, value = _split_head(part)
    header = BytesHeaderParser().parsebytes(head)
    name = header.get_param("name", header="content-disposition")
    if not separator or not isinstance(name, str) or not name:
        raise ValueError("a part of the multipart form has no name")
    encoding = str(header.get("content-transfer-encoding", "binary")).strip().lower()
    if encoding not in ("7bit", "8bit", "binary"):
        raise ValueError("a part of the multipart form has a Content-Transfer-Encoding")
    return name, _decode(value)


def _split_head(part: bytes) -> tuple[bytes, bytes, bytes]:
    match = re.search(rb"\r?\n\r?\n", part)
    if not match:
        return part, b"", b""
    return part[: match.start()], match[0], part[match.end() :]


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise ValueError("the body is not valid UTF-8") from None
