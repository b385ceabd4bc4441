"""A server that answers what huggingface_hub asks the Hugging Face hub for a model's files."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit


class FakeHub:
    """Repositories by name; a repository has its commits by their hashes, the last one is main.

    A commit has the contents of its files by name. requests: the method and path of each request.
    """

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.requests: list[tuple[str, str]] = []

    def commit(self, repository: str, files: dict[str, bytes]) -> str:
        """Add a commit to a repository, which may be new, and return its hash."""
        commits = self.repositories.setdefault(repository, {})
        commit = hashlib.sha1(f"{repository} {len(commits)}".encode()).hexdigest()
        commits[commit] = files
        return commit

    @property
    def downloads(self) -> set[str]:
        """The names of the files that were downloaded."""
        paths = (path for method, path in self.requests if method == "GET" and "/resolve/" in path)
        return {path.split("/resolve/")[1].partition("/")[2] for path in paths}

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers and the body of the answer to a request."""
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        if parts[:2] == ["api", "models"]:
            parts = parts[2:]
        repository = "/".join(parts[:2])
        action, revision, *rest = parts[2:] or ["revision", "main"]
        commits = self.repositories.get(repository)
        if commits is None:  # as the hub answers those who have not logged in
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        commit = list(commits)[-1] if revision == "main" else revision
        if commit not in commits:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        files = commits[commit]
        if action == "resolve":
            return self._send_file(files, "/".join(rest), commit)
        if action == "tree":
            answer: object = [
                {"type": "file", "path": name, "size": len(content), "oid": _digest(content)}
                for name, content in files.items()
            ]
        else:
            siblings = [{"rfilename": name} for name in files]
            answer = {"id": repository, "sha": commit, "siblings": siblings}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def receive(self, path: str, body: bytes) -> dict[str, object]:
        """Return the answer to a request that uploads files."""
        lines = [json.loads(line) for line in body.splitlines()]
        if "/preupload/" in path:  # Large files are received in the commit, too.
            modes = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            return {"files": [{"path": file["path"]} | modes for file in lines[0]["files"]]}
        if "/commit/" in path:
            values = [line["value"] for line in lines if line["key"] == "file"]
            files = {value["path"]: base64.b64decode(value["content"]) for value in values}
            repository = "/".join(path.split("/")[3:5])
            commit = self.commit(repository, files)
            return {"commitUrl": f"{self.url}/{repository}/commit/{commit}", "commitOid": commit}
        names = lines[0]
        url = f"{self.url}/{names.get('organization')}/{names.get('name')}"
        return {"url": url, "errors": [], "warnings": []}

    def _send_file(
        self, files: dict[str, bytes], name: str, commit: str
    ) -> tuple[int, dict[str, str], bytes]:
        if name not in files:
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_digest(files[name])}"'}
        return 200, headers, files[name]


def _digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serve_hub() -> Iterator[FakeHub]:
    """Serve a hub without repositories within the block."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.requests.append((self.command, self.path))
            self.send(*hub.answer(self.path))

        do_HEAD = do_GET

        def do_POST(self) -> None:
            hub.requests.append((self.command, self.path))
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps(hub.receive(self.path, body))
            self.send(200, {"Content-Type": "application/json"}, answer.encode())

        def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
