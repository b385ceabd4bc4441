"""Query strings and forms are decoded as browsers, curl and UDPipe's client write them."""

import pytest

from depkit.serving.forms import MAX_FIELDS, MULTIPART, URL_ENCODED, decode_form, decode_query

KIND = f"{MULTIPART}; boundary=b"


def make_part(head: str, value: bytes, end: bytes = b"\r\n") -> bytes:
    return b"--b" + end + head.encode() + end + end + value + end


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("value", [b"", b"x", b"a\r\n\r\nb\r\n", b"-- b --\n--", "é".encode()])
def test_a_multipart_form_is_decoded(value, end):
    data_head = 'Content-Disposition: form-data; name="data"; filename="/etc/passwd"'
    body = (
        b"preamble" + end + make_part(data_head, value, end)
        + make_part('content-disposition: form-data; name="parser"', b"", end)
        + b"--b--" + end + b"epilogue"
    )  # fmt: skip
    assert decode_form(KIND, body) == {"data": value.decode(), "parser": ""}


def test_url_encoded_forms_are_decoded():
    assert decode_form(URL_ENCODED, b"data=a+b%0A%C3%A9&parser=") == {
        "data": "a b\né",
        "parser": "",
    }
    assert decode_form(f"{URL_ENCODED}; charset=UTF-8", b"a=1&a=2") == {"a": "2"}
    assert decode_form(URL_ENCODED, b"") == decode_query("") == {}


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("", b"a=1", "the body must be"),
        ("text/plain", b"a=1", "the body must be"),
        ("é\r\nX: 1", b"", "the body must be"),
        (URL_ENCODED, b"a=\xff", "UTF-8"),
        (URL_ENCODED, b"a=%FF", "UTF-8"),
        (URL_ENCODED, b"&".join([b"a=1"] * (MAX_FIELDS + 1)), "more than"),
        (MULTIPART, b"", "no boundary"),
        (KIND, b"", "incomplete"),
        (KIND, b"--b\r\n", "incomplete"),
        (KIND, make_part('Content-Disposition: form-data; name="a"', b"x"), "incomplete"),
        (KIND, make_part("X: 1", b"x") + b"--b--", "no name"),
        (KIND, b"--b\r\nx\r\n--b--", "no name"),
        (KIND, make_part('Content-Disposition: form-data; name="a"', b"\xff") + b"--b--", "UTF-8"),
        (
            KIND,
            make_part(
                'Content-Transfer-Encoding: base64\r\nContent-Disposition: form-data; name="a"',
                b"eA==",
            )
            + b"--b--",
            "Content-Transfer-Encoding",
        ),
    ],
)
def test_a_malformed_form_is_refused(kind, body, message):
    with pytest.raises(ValueError, match=message):
        decode_form(kind, body)
