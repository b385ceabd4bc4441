"""A headless Chromium, driven by chromedriver over the protocol WebDriver (W3C)."""

import json
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
TIMEOUT = 120  # seconds that one command may take on a busy machine


class Browser:
    """A window of Chromium; address: that of chromedriver."""

    def __init__(self, address: str) -> None:
        options = {"args": ARGUMENTS}
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self._address = f"{address}/session"
        body = {"capabilities": {"alwaysMatch": capabilities}}
        self._address += f"/{self._call('', body)['sessionId']}"

    def _call(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = Request(self._address + path, data, method=method)
        with urlopen(request, timeout=TIMEOUT) as response:
            return json.load(response)["value"]

    def open(self, address: str) -> None:
        self._call("/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page and return what it returns."""
        return self._call("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript that ends by calling its last argument, and return what it passes."""
        return self._call("/execute/async", {"script": script, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Run a command of Chromium's developer tools."""
        return self._call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def messages(self) -> list[str]:
        """Return the messages on the console since the last call."""
        return [entry["message"] for entry in self._call("/se/log", {"type": "browser"})]

    def screenshot(self) -> bytes:
        return b64decode(self._call("/screenshot", method="GET"))

    def close(self) -> None:
        self._call("", method="DELETE")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start chromedriver and a browser; both end with the context."""
    command = ["chromedriver", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout
            port = next(
                filter(
                    None, (re.search(r"successfully on port (\d+)", line) for line in driver.stdout)
                )
            )
            browser = Browser(f"http://127.0.0.1:{port[1]}")
            try:
                yield browser
            finally:
                browser.close()
        finally:
            driver.terminate()
