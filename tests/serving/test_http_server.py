"""The server is asked over real sockets: UDPipe's requests, wrong ones, limits and slow clients."""

import email.mime.multipart
import email.mime.nonmultipart
import email.policy
import http.client
import io
import json
import socket
import time
from threading import Event, Thread
from urllib.parse import urlencode

import pytest

from depkit.cli.serve import check_server
from depkit.corpus.io import read, write
from depkit.corpus.json_lines import to_json_lines
from depkit.parsers.loading import load
from depkit.serving import http_connection
from depkit.serving.http_server import Limits, Server
from depkit.serving.udpipe import Models, check_model, name_models
from depkit.version import __version__
from tests.serving.waiting import SECONDS, wait_for

TEXT = "Dogs bark at the small cat. Time flies.\n\nShe gonna sleep."
ALL = {"tokenizer": "", "tagger": "", "parser": ""}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def parser():
    """Return the bundled parser, whose result for a sentence does not depend on its batch."""
    return load("en-ewt", "cpu", threads=1, engine="onnx")


@pytest.fixture(scope="module")
def start(parser):
    """Return a function that starts a server with limits."""
    servers = []

    def start(**limits) -> Server:
        models = Models({"en-ewt": ("en-ewt", parser), "other-model": ("en-ewt", parser)})
        servers.append(Server(models, limits=Limits(**limits)))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        if server.thread.is_alive():
            server.stop()


@pytest.fixture(scope="module")
def server(start):
    """Return a server with the usual limits."""
    return start()


def ask(server, path, body=None, headers=None, method=None):
    """Send a request; return the status, the headers and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    connection.request(method or ("GET" if body is None else "POST"), path, body, headers or {})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    assert int(response.headers["Content-Length"]) == len(data) or method == "HEAD"
    return response.status, response.headers, data


def process(server, **parameters):
    """Send a form and return the answer as an object."""
    status, headers, data = ask(server, "/process", urlencode(parameters), FORM)
    assert (status, headers["Content-Type"]) == (200, "application/json"), data
    return json.loads(data)


def result(server, **parameters) -> str:
    """Send a form; return the result in CoNLL-U without the comments about the model."""
    head = (
        f"# generator = depkit {__version__}\n# udpipe_model = en-ewt\n"
        "# udpipe_model_licence = cc-by-sa-4.0\n"
    )
    text = process(server, **parameters)["result"]
    assert text.startswith(head)
    return text.removeprefix(head)


def to_text(sentences) -> str:
    stream = io.StringIO()
    write(sentences, stream)
    return stream.getvalue()


def connect(server, data=b""):
    connection = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    connection.sendall(data)
    return connection


def read_to_end(connection) -> bytes:
    with connection, connection.makefile("rb") as stream:
        return stream.read()


# UDPipe's documented requests


def test_models_are_listed_as_udpipe_lists_them(server):
    status, headers, data = ask(server, "/models")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    steps = ["tokenizer", "tagger", "parser"]
    assert json.loads(data) == {
        "models": {"en-ewt": steps, "other-model": steps},
        "default_model": "en-ewt",
    }
    assert ask(server, "/models", method="HEAD")[2] == b""
    assert json.loads(ask(server, "/health")[2]) == {"status": "ok"}


def test_a_text_is_answered_field_by_field(server, parser):
    answer = process(server, data=TEXT, **ALL)
    assert list(answer) == ["model", "acknowledgements", "result"]
    assert answer["model"] == "en-ewt"
    assert answer["acknowledgements"] == [
        "treebank: UD English-EWT", "treebank: UD English-GUM",
        "licence of the model: cc-by-sa-4.0"
    ]  # fmt: skip
    assert result(server, data=TEXT, **ALL) == to_text(parser.parse(TEXT, "predict"))


def test_get_url_encoded_and_multipart_requests_have_the_same_answer(server):
    values = {"data": TEXT, **ALL, "model": "en-ewt", "output": "conllu"}
    expected = process(server, **values)
    assert json.loads(ask(server, f"/process?{urlencode(values)}")[2]) == expected
    # As UDPipe's client makes the form, with the line ends of mail
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    for name, value in values.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", 1)[1]
    headers = {"Content-Type": message["Content-Type"]}
    assert json.loads(ask(server, "/process", body, headers)[2]) == expected
    # Parameters of the address count in a POST request as well.
    form = urlencode({"data": TEXT} | ALL)
    assert json.loads(ask(server, "/process?model=en", form, FORM)[2]) == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [("", "en-ewt"), ("en", "en-ewt"), ("other", "other-model"), ("other-model", "other-model")],
)
def test_a_model_is_found_by_the_beginning_of_its_name(model, expected, server):
    assert process(server, data="x", input="vertical", model=model)["model"] == expected


def test_a_whole_name_is_preferred_to_the_beginning_of_another(parser):
    models = Models({"en-ewt": ("en-ewt", parser), "en": ("en-ewt", parser)})
    assert [models.find(name).name for name in ("", "en", "en-ewt")] == ["en-ewt", "en", "en-ewt"]


def test_only_the_steps_that_are_asked_for_are_taken(server, parser):
    sentences = list(parser.tokenize(TEXT))
    assert result(server, data=TEXT, tokenizer="") == to_text(sentences)
    tagged = to_text(parser.tag(sentences, "predict"))
    assert result(server, data=TEXT, tokenizer="", tagger="") == tagged
    parsed = to_text(parser.parse(sentences, "keep"))
    assert result(server, data=TEXT, tokenizer="", parser="") == parsed
    assert len({to_text(sentences), tagged, parsed}) == 3


def test_tags_of_conllu_are_kept_without_the_tagger_and_replaced_with_it(server, parser, tiny):
    data = to_text(sentence.with_columns({"upos": ["X"] * len(sentence)}) for sentence in tiny)
    sentences = list(read(io.StringIO(data), "conllu"))
    assert result(server, data=data, parser="") == to_text(parser.parse(sentences, "keep"))
    replaced = result(server, data=data.replace("\n", "\r\n"), tagger="", parser="")
    assert replaced == to_text(parser.parse(sentences, "predict"))
    assert "\tX\t" in data and "\tX\t" not in replaced
    assert result(server, data=data, input="conllu=v2", output="conllu;v2") == data


def test_the_parser_has_options(server, parser):
    text = "She saw him there. Time flies."
    steps = {"tokenizer": "", "tagger": ""}
    trees = list(parser.parse(text, "predict", best=2, prob=True))
    assert result(server, data=text, **steps, parser="best=2;prob") == to_text(trees)
    records = process(server, data=text, output="json", **steps, parser="prob; best=2")["result"]
    assert records == [json.loads(line) for line in to_json_lines(trees, prob=True)]
    assert 0 < records[0]["words"][0]["arc_prob"] <= 1 and records[0]["rank"] == 1
    one = list(parser.parse(text, "predict", prob=True))
    records = process(server, data=text, output="json", **steps, parser="prob")["result"]
    assert records == [json.loads(line) for line in to_json_lines(one, prob=True)]
    assert result(server, data=text, **steps, parser="prob;best=1") == to_text(one)
    # The head that only the second tree has is kept.
    fixed = trees[1].with_tree([-1, -1, -1, 3, -1], ["_"] * 5)
    kept = list(parser.parse([fixed], "keep", heads="keep"))
    assert kept[0].head[3] == 3 and trees[0].head[3] == 2
    assert result(server, data=str(fixed), parser="heads=keep") == to_text(kept)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"input": "horizontal", "data": "A b\n\nc d e\n"}, "A b\nc d e\n"),
        ({"input": "horizontal", "data": "A\xa0b c"}, "A\xa0b c\n"),
        ({"input": "vertical", "data": "\n\nA\tX\nb\n\n\n \nc"}, "A b\nc\n"),
        ({"input": "vertical", "data": ""}, ""),
        ({"input": "conllu", "data": ""}, ""),
        ({"input": "generic_tokenizer", "data": "Dogs bark. Cats sleep."},
         "Dogs bark .\nCats sleep .\n"),
        ({"input": "generic_tokenizer=presegmented", "data": "Dogs bark. Cats sleep.\nTime flies."},
         "Dogs bark . Cats sleep .\nTime flies .\n"),
        ({"input": "generic_tokenizer;presegmented", "data": "Dogs bark. Cats sleep."},
         "Dogs bark . Cats sleep .\n"),
        ({"tokenizer": "", "data": "  \n\n"}, ""),
        ({"tokenizer": "presegmented", "data": "Dogs bark. Cats sleep.\nTime flies."},
         "Dogs bark . Cats sleep .\nTime flies .\n"),
    ],
)  # fmt: skip
def test_inputs_are_read(parameters, expected, server):
    assert process(server, output="horizontal", **parameters)["result"] == expected


@pytest.mark.parametrize(
    ("parameters", "data"),
    [
        ({"tokenizer": ""}, "Birds sing."),
        ({"tokenizer": "presegmented"}, "Birds sing."),
        ({"input": "horizontal"}, "Birds sing ."),
        ({"input": "vertical"}, "Birds\nsing\n.\n"),
        ({"input": "conllu"}, "1\tBirds\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_data(parameters, data, server):
    assert result(server, data=f"\ufeff{data}", **parameters) == result(
        server, data=data, **parameters
    )


def test_a_byte_order_mark_is_no_part_of_a_text_in_python(parser):
    assert [sentence.form for sentence in parser("\ufeffBirds sing.")] == [("Birds", "sing", ".")]


def test_outputs_are_written(server, parser):
    text = " Dogs  bark.\nCats gonna\u2028sleep \n\n Time flies.\n"
    sentences = list(parser.parse(text, "predict"))
    plain = process(server, data=text, output="plaintext", **ALL)["result"]
    assert plain == text
    forms = process(server, data=text, output="vertical", **ALL)["result"]
    assert forms == "".join("\n".join(s.form) + "\n\n" for s in sentences)
    records = process(server, data=text, output="json", **ALL)["result"]
    assert records == [json.loads(line) for line in to_json_lines(sentences)]
    assert process(server, data="", output="json", **ALL)["result"] == []


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("plaintext", "Birds sing."),
        ("horizontal", "Birds sing .\n"),
        ("vertical", "Birds\nsing\n.\n\n"),
    ],
)
def test_an_output_without_trees_has_each_sentence_once(output, expected, server):
    values = ALL | {"data": "Birds sing.", "output": output, "parser": "best=3"}
    assert process(server, **values)["result"] == expected


def test_a_long_text_is_read_in_parts_with_the_same_result(server, parser):
    text = "".join(
        f"Dogs bark at {i} cats. Time flies.{' ' if i % 3 else chr(10) * 2}" for i in range(500)
    )
    assert len(text) > 10_000
    expected = to_text(parser.tokenize(text))
    assert result(server, data=text, tokenizer="") == expected
    unbroken = text.replace("\n\n", " ")
    assert result(server, data=unbroken, tokenizer="") == to_text(parser.tokenize(unbroken))


# Wrong requests


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "the parameter data is missing"),
        ({"data": "x", "model": "../../etc"}, "there is no model '../../etc'"),
        ({"data": "x", "model": "e"}, "there is no model 'e'"),
        ({"data": "x", "output": "matxin"}, "there is no output 'matxin'"),
        ({"data": "x", "input": "/etc/passwd"}, "there is no input '/etc/passwd'"),
        ({"data": "x", "tokenizer": "ranges"}, "the tokenizer has no option 'ranges'"),
        ({"data": "x", "input": "generic_tokenizer=ranges"}, "tokenizer has no option 'ranges'"),
        ({"data": "x", "input": "horizontal;a"}, "the input horizontal has no option 'a'\n"),
        ({"data": "", "output": "conllu=v1"}, "output conllu has no option 'v1'; it can be v2\n"),
        ({"data": "", "output": "plaintext=v2"}, "the output plaintext has no option 'v2'\n"),
        ({"data": "", "tagger": "a"}, "the tagger has no option 'a'\n"),
        ({"data": "x", "parser": "best=11"}, "no option 'best=11'; it can be best=N (N is from"),
        ({"data": "x", "parser": "prob=marginal"}, "no option 'prob=marginal'"),
        ({"data": "1\tx\n"}, "data: line 1: the line has 2 columns"),
        ({"data": "x\n" * 5000, "input": "vertical", "parser": ""}, "5000 words"),
    ],
)
def test_a_wrong_parameter_is_answered_with_one_line(parameters, message, server):
    status, headers, data = ask(server, "/process", urlencode(parameters), FORM)
    assert (status, headers["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert message.replace(",", "") in data.decode().replace(",", "")
    assert data.count(b"\n") == 1


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET /index.html HTTP/1.1"], 404),
        (["GET /?model=no HTTP/1.1"], 400),
        (["GET /../../etc/passwd HTTP/1.1"], 404),
        (["GET /process%2F HTTP/1.1"], 404),
        (["POST /models HTTP/1.1", "Content-Length: 0"], 405),
        (["PUT /process HTTP/1.1"], 405),
        (["HEAD /process HTTP/1.1"], 405),
        (["BREW /process HTTP/1.1"], 405),
        (["GET /process?data=%FF HTTP/1.1"], 400),
        (["GET http://[/ HTTP/1.1"], 400),
        (["nonsense"], 400),
        (["GET /models HTTP/x"], 400),
        (["GET /models HTTP/9.0"], 505),
        ([f"GET /{'x' * 70_000} HTTP/1.1"], 414),
        (["GET /models HTTP/1.1", *["a: b"] * 200], 431),
        (["GET /models HTTP/1.1", f"a: {'b' * 70_000}"], 431),
        (["GET /models HTTP/1.1", "a : b"], 400),
        (["GET /models HTTP/1.1", "a: b", " continued"], 400),
        (["GET /models"], 400),
        (["GET\xa0/models HTTP/1.1"], 400),
        (["GET  /models HTTP/1.1"], 400),
        (["POST /process HTTP/1.1", "Content-Length: 1", "Content-Length: 2"], 400),
        (["POST /process HTTP/1.1"], 411),
        (["POST /process HTTP/1.1", "Transfer-Encoding: chunked"], 411),
        (["POST /process HTTP/1.1", "Content-Length: -1"], 400),
        (["POST /process HTTP/1.1", "Content-Length: \u0663"], 400),
        (["POST /process HTTP/1.1", "Content-Length: 0"], 400),
        (["POST /process HTTP/1.1", "Content-Length: 99999999999"], 413),
        (["POST /process HTTP/1.1", "Content-Length: 99999999999999999999"], 413),
        (["POST /process HTTP/1.1", f"Content-Length: {'9' * 5000}"], 413),
        (["POST /process HTTP/1.1", "Content-Length: 99999999999", "Expect: 100-continue"], 413),
    ],
)
def test_a_malformed_request_has_the_right_status(lines, status, server):
    data = "".join(f"{line}\r\n" for line in [*lines, "Connection: close", ""]).encode()
    head, _, body = read_to_end(connect(server, data)).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), head
    assert body.count(b"\n") == (0 if lines[0].startswith("HEAD") else 1)
    assert b"Traceback" not in body and b"<" not in body


def test_an_address_is_utf8_with_or_without_percent_signs(server):
    values = "output=plaintext&tokenizer&data=Straße+n%C3%B6rdlich"
    request = f"GET /process?{values} HTTP/1.1\r\nConnection: close\r\n\r\n"
    body = read_to_end(connect(server, request.encode())).partition(b"\r\n\r\n")[2]
    assert json.loads(body)["result"] == "Straße nördlich"
    answer = read_to_end(connect(server, request.encode("latin-1")))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"\r\n\r\nthe address is not valid UTF-8\n")


def test_a_text_that_is_too_long_for_an_address_is_to_be_sent_by_post(server):
    path = "/process?data=&model="
    target = path + "x" * (65_536 - len(path))
    status, _, data = ask(server, target)
    assert status == 400 and data.startswith(b"there is no model")
    status, _, data = ask(server, f"{target}x")
    assert status == 414
    assert data == b"the address is longer than 65,536 bytes; send the text by POST\n"


def test_several_lengths_of_a_body_are_told(server):
    lines = ["POST /process HTTP/1.1", "Content-Length: 7", "content-length: 7", "", "data=ab"]
    answer = read_to_end(connect(server, "\r\n".join(lines).encode()))
    assert answer.endswith(b"\r\n\r\nthere are several values of Content-Length\n")


def test_a_method_that_is_not_allowed_is_told_what_is(server):
    assert ask(server, "/process", method="DELETE")[1]["Allow"] == "GET, POST"


def test_web_pages_of_other_sites_get_no_permission(server):
    headers = ask(server, "/models", headers={"Origin": "http://example.org"})[1]
    assert not [name for name in headers if name.lower().startswith("access-control")]


# Connections that are kept


def test_a_connection_is_kept_for_further_requests(server):
    posts = [make_post(urlencode({"data": f"w{i}", "input": "vertical"}), "") for i in range(3)]
    posts[1] += b"\r\n"  # Some clients send an empty line after a form.
    last = b"GET /nothing HTTP/1.1\r\nConnection: Close\r\n\r\n"
    answers = read_to_end(connect(server, b"".join([*posts, last]))).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200", b"200", b"200", b"404"]
    assert [f"\\tw{i}\\t".encode() in answer for i, answer in enumerate(answers)] == [True] * 3 + [
        False
    ]
    assert [b"Connection: close" in answer for answer in answers] == [False] * 3 + [True]


def test_a_client_can_wait_for_permission_to_send_its_text(server):
    head, _, body = make_post(urlencode({"data": "a", "input": "vertical"})).partition(b"\r\n\r\n")
    with connect(server, head + b"\r\nExpect: 100-Continue\r\n\r\n") as connection:
        permission = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert connection.recv(len(permission), socket.MSG_WAITALL) == permission
        connection.sendall(body)
        assert read_to_end(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "request_with_body",
    [
        b"GET /models HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET ",
        b"POST /models HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET ",
        b"POST /process HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /models HTTP/1.0\r\n\r\n",
    ],
)
def test_a_connection_ends_where_the_next_request_would_be_misread(request_with_body, server):
    with connect(server, request_with_body + b"GET /models HTTP/1.1\r\n\r\n") as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = read_to_end(connection)
    assert answer.count(b"HTTP/1.1 ") == answer.count(b"Connection: close") == 1


def test_a_connection_without_a_further_request_ends(start):
    server = start(client_seconds=0.3)
    assert b" 200 OK" in read_to_end(connect(server, b"GET /models HTTP/1.1\r\n\r\n"))


def test_connections_are_not_kept_if_there_are_many(start):
    server = start(requests=1)
    silent = connect(server)
    wait_for(lambda: server.num_connections == 1)
    answer = read_to_end(connect(server, b"GET /models HTTP/1.1\r\n\r\n"))
    assert b" 200 OK" in answer and b"Connection: close" in answer
    silent.close()


def test_unanswered_pipelined_requests_do_not_discard_the_response(start):
    """The server ends a connection, and reads what the client has sent and still sends."""
    server = start(requests=1)
    silent = connect(server)
    wait_for(lambda: server.num_connections == 1)
    request = b"GET /models HTTP/1.1\r\n\r\n"
    with connect(server, request * 10_000) as connection, connection.makefile("rb") as stream:
        assert stream.read().count(b"HTTP/1.1 ") == 1
        for _ in range(20):  # fails if the server has closed the connection
            connection.sendall(request)
            time.sleep(0.005)
    silent.close()


def test_http_1_0_clients_get_no_100_continue(server):
    head, _, body = make_post(urlencode({"data": "a", "input": "vertical"})).partition(b"\r\n\r\n")
    head = head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\nExpect: 100-continue\r\n\r\n"
    assert read_to_end(connect(server, head + body)).startswith(b"HTTP/1.1 200 ")


def test_stopping_ends_kept_connections(start):
    server = start(client_seconds=10 * SECONDS)
    connection = connect(server, b"GET /models HTTP/1.1\r\n\r\n")
    assert connection.recv(1)
    wait_for(lambda: server.idle)
    stopping = Thread(target=server.stop, daemon=True)
    stopping.start()
    stopping.join(SECONDS)  # far less than the time that the client has
    assert not stopping.is_alive() and server.num_connections == 0
    assert b"Connection: close" not in read_to_end(connection)


def test_a_check_says_why_a_model_does_not_answer(start):
    reason = "the body is larger than 10 bytes; send less at once"
    with pytest.raises(OSError, match=f"^the model en-ewt does not answer: {reason}$"):
        check_server(start(size=10))


def test_an_internal_error_is_answered(server, monkeypatch):
    def fail(query, results):
        raise KeyError("a\nb")

    monkeypatch.setattr(http_connection, "render_answer", fail)
    status, _, data = ask(server, "/process", urlencode({"data": ""}), FORM)
    assert (status, data) == (500, b"internal error, KeyError: 'a\\nb'\n")


# Limits


def test_a_body_that_is_too_large_is_refused_while_it_is_sent(start):
    server = start(size=1000)
    data = "x" * 5_000_000  # more than the buffers of a connection
    status, _, message = ask(server, "/process", f"data={data}", FORM)
    assert status == 413
    assert message == b"the body is larger than 1,000 bytes; send less at once\n"
    assert ask(server, "/process", f"data={'x' * 995}&input=vertical", FORM)[0] == 413
    assert ask(server, "/process", f"input=vertical&data={'x' * 980}", FORM)[0] == 200


class Blocker:
    """Sentences that are not read before `go` is set."""

    def __init__(self, server) -> None:
        self.server, self.started, self.go = server, Event(), Event()
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()
        assert self.started.wait(SECONDS)

    def run(self) -> None:
        list(self.server.batcher.annotate(self.read(), iter, seconds=SECONDS))

    def read(self):
        self.started.set()
        assert self.go.wait(SECONDS)
        yield from ()

    def __enter__(self) -> "Blocker":
        return self

    def __exit__(self, *exception) -> None:
        self.go.set()
        self.thread.join(SECONDS)


def test_too_many_requests_are_told_when_to_try_again(start):
    server = start(requests=1)
    body = urlencode({"data": "a", "input": "vertical"})
    with Blocker(server):
        status, headers, data = ask(server, "/process", body, FORM)
    assert (status, headers["Retry-After"]) == (503, "1")
    assert data == b"the server is busy; try again\n"
    wait_for(lambda: not server.batcher.open)
    assert ask(server, "/process", body, FORM)[0] == 200


def test_too_many_bytes_are_refused(start):
    server = start(size=1000)
    body = urlencode({"data": "a" * 900, "input": "vertical"})
    with Blocker(server):
        waiting = [connect(server, make_post(body)) for _ in range(4)]
        wait_for(lambda: server.num_bytes == 4 * len(body))
        assert ask(server, "/process", body, FORM)[0] == 503
    assert all(b" 200 OK" in read_to_end(connection) for connection in waiting)
    assert server.num_bytes == 0


def make_post(body: str, connection: str = "close") -> bytes:
    return (
        f"POST /process HTTP/1.1\r\nContent-Type: {FORM['Content-Type']}\r\n"
        f"Connection: {connection}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def test_too_many_connections_are_refused(start, monkeypatch):
    monkeypatch.setattr(Limits, "connections", 2)
    server = start()
    silent = [connect(server) for _ in range(2)]
    wait_for(lambda: server.num_connections == 2)
    assert read_to_end(connect(server)).startswith(b"HTTP/1.1 503 Service Unavailable\r\nRetry-")
    for connection in silent:
        connection.close()
    wait_for(lambda: server.num_connections == 0)
    assert ask(server, "/health")[0] == 200


def test_a_request_that_takes_too_long_is_given_up(start):
    server = start(seconds=0.3)
    with Blocker(server):
        status, headers, data = ask(
            server, "/process", urlencode({"data": "a", "input": "vertical"}), FORM
        )
    assert (status, headers["Retry-After"]) == (503, "1")
    assert data == b"the request took more than 0.3 s; send less at once\n"


@pytest.mark.parametrize("sent", [b"", b"GET /mod"])
def test_stopping_ends_connections_without_a_request(sent, start):
    server = start(client_seconds=10 * SECONDS)
    with connect(server, sent):
        wait_for(lambda: server.idle)
        stopping = Thread(target=server.stop, daemon=True)
        stopping.start()
        stopping.join(SECONDS)
        assert not stopping.is_alive() and server.num_connections == 0


# Slow, silent and killed clients


@pytest.mark.parametrize("sent", [b"", b"GET /mod", b"GET /models HTTP/1.1\r\nA: b\r\n"])
def test_a_silent_client_is_cut_off(sent, start):
    server = start(client_seconds=0.3)
    assert read_to_end(connect(server, sent)) == b""


def test_a_client_that_sends_byte_by_byte_is_cut_off(start):
    server = start(client_seconds=2.0, client_rate=1e9)
    connection = connect(server, make_post("data=" + "x" * 1000)[:-900])
    connection.settimeout(0.05)
    answer = b""
    for _ in range(20 * SECONDS):
        try:
            connection.sendall(b"x")
            if chunk := connection.recv(4096):
                answer += chunk
                continue
            break
        except TimeoutError:
            continue
        except OSError:
            break
    connection.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b"the body did not arrive in time\n")


def test_a_client_that_does_not_read_is_cut_off(start, monkeypatch):
    # More than the buffers of a connection
    monkeypatch.setattr(
        http_connection, "render_answer", lambda query, results: [b"x" * 50_000_000]
    )
    server = start(client_seconds=0.3, client_rate=1e9)
    connection = connect(server, make_post("data="))  # and read only one byte
    assert connection.recv(1)
    wait_for(lambda: server.num_connections == 0)
    assert len(read_to_end(connection)) < 50_000_000


def test_the_request_of_a_killed_client_is_given_up(start):
    server = start()
    with Blocker(server):
        connection = connect(server, make_post(urlencode({"data": "a", "input": "vertical"})))
        wait_for(lambda: len(server.batcher.open) == 2)
        connection.close()
        wait_for(lambda: server.num_connections == 0)
        assert len(server.batcher.open) == 1


# Many clients, and the end


def test_concurrent_requests_share_a_call_and_have_the_answers_of_single_ones(start, parser):
    server = start()
    texts = [f"The cat number {i} sleeps. Dogs bark." for i in range(12)]
    answers: dict[int, str] = {}
    sizes: list[int] = []
    model = server.models.models["en-ewt"]
    annotate = model.annotators[True, True]

    def count(sentences):
        sentences = list(sentences)
        sizes.append(len(sentences))
        return annotate(sentences)

    model.annotators[True, True] = count

    def send(i: int) -> None:
        answers[i] = result(server, data=texts[i], **ALL)

    threads = [Thread(target=send, args=(i,), daemon=True) for i in range(12)]
    with Blocker(server):
        for thread in threads:
            thread.start()
        wait_for(lambda: len(server.batcher.open) == 13)
    for thread in threads:
        thread.join(SECONDS)
    assert sizes == [24]
    assert answers == {i: to_text(parser.parse(text, "predict")) for i, text in enumerate(texts)}


def test_stopping_answers_what_is_under_way_and_accepts_no_more(start):
    server = start()
    with Blocker(server):
        connection = connect(server, make_post(urlencode({"data": "a", "input": "vertical"})))
        wait_for(lambda: len(server.batcher.open) == 2)
        stopper = Thread(target=server.stop, daemon=True)
        stopper.start()
        wait_for(lambda: server.socket.fileno() < 0)
        with pytest.raises(OSError):
            connect(server)
    assert b" 200 OK" in read_to_end(connection)
    stopper.join(SECONDS)
    assert not stopper.is_alive()


def test_a_server_knows_whether_other_machines_can_connect(parser):
    models = Models({"en-ewt": ("en-ewt", parser)})
    for host, is_local in [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)]:
        server = Server(models, host)
        assert server.is_local == is_local, host
        server.server_close()
    with pytest.raises(OSError, match="no such host"):
        Server(models, "no host has such a name")


def test_models_are_named_by_their_directories(tmp_path, parser):
    assert name_models(["en", "af"]) == {"en-ewt": "en", "af": "af"}
    (tmp_path / "en-ewt").mkdir()
    with pytest.raises(ValueError, match="two models are called en-ewt"):
        name_models(["en-ewt", tmp_path / "en-ewt"])
    check_model("en-ewt", parser)
