"""A headless Chromium, driven by chromedriver over the protocol WebDriver (W3C)."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import pytest

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
needs_browser = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
TIMEOUT = 120  # seconds that one command may take on a busy machine

RESULT = "return document.querySelector('[aria-live]').textContent"
CHANGE = """
const box = document.querySelector(`form [name=${arguments[0]}]`);
box.value = arguments[1];
box.dispatchEvent(new Event('change'));
"""
# Opens each address in turn and returns the texts above the list.
VISIT = """
const [addresses, done] = arguments;
const visit = async () => {
    const texts = [];
    for (const address of addresses) {
        const change = new Promise(end => addEventListener('hashchange', end, { once: true }));
        if (location.hash !== address) {
            location.hash = address;
            await change;
        }
        texts.push(document.querySelector('[aria-live]').textContent);
    }
    return texts;
};
visit().then(done);
"""


class Browser:
    """A window of Chromium; address: that of chromedriver."""

    def __init__(self, address: str) -> None:
        options = {"args": ARGUMENTS}
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 1000 * TIMEOUT},
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

    def click(self, selector: str) -> None:
        """Click with the mouse on the element that a CSS selector selects."""
        self._call(f"/element/{self._find(selector)}/click")

    def press(self, selector: str, keys: str) -> None:
        """Press keys while an element has the focus; a file input gets the path of a file."""
        self._call(f"/element/{self._find(selector)}/value", {"text": keys})

    def _find(self, selector: str) -> str:
        found = self._call("/element", {"using": "css selector", "value": selector})
        (identifier,) = found.values()
        return str(identifier)

    def run_async(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript that ends by calling its last argument, and return what it passes."""
        return self._call("/execute/async", {"script": script, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Run a command of Chromium's developer tools."""
        return self._call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def set_width(self, width: int) -> None:
        """Give the window this width in pixels."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def messages(self) -> list[str]:
        """Return the messages on the console since the last call."""
        return [entry["message"] for entry in self._call("/se/log", {"type": "browser"})]

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


def found(text: str) -> tuple[int, ...]:
    """Return the numbers of sentences and of matching words in the text above the list."""
    return tuple(map(int, re.findall("[0-9]+", text)))


def wait(browser: Browser, condition: str) -> None:
    """Wait until a condition holds, because the page handles a change of the fragment later."""
    end = time.monotonic() + TIMEOUT
    while not browser.run(f"return {condition}"):
        assert time.monotonic() < end, f"not within {TIMEOUT} seconds: {condition}"
        time.sleep(0.01)


def set_filter(browser: Browser, name: str, value: str) -> tuple[int, ...]:
    browser.run(CHANGE, name, value)
    wait(browser, "document.querySelector('form').dataset.fragment === location.hash")
    return found(browser.run(RESULT))


def clear_filter(browser: Browser, fragment: str) -> None:
    """Click on the button below the filters, and wait for the fragment of an empty filter."""
    browser.run("document.querySelector('form button').click()")
    wait(browser, f"document.querySelector('form').dataset.fragment === '{fragment}'")


def visit(browser: Browser, addresses: list[str]) -> list[str]:
    """Open the fragments one after another, and return the texts above the list."""
    return browser.run_async(VISIT, addresses)
