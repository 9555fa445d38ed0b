"""Opens pages in headless Chromium, over a pipe with the DevTools protocol: needs no driver, no library and no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

TIMEOUT = 60  # seconds; a page opens in one or two


def find_chromium():
    """The path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


def open_page(path):
    """The page's DOM as HTML after its scripts have run, and all messages of the console."""
    with tab(path) as page:
        return page.dom(), page.console


def screenshot(path, png, width=1280, height=None, dark=False):
    """Saves a screenshot of the page, in its full height unless one is given."""
    with tab(path, width, height or 900, dark) as page:
        page.screenshot(png, whole=height is None)


@contextmanager
def tab(path, width=1280, height=900, dark=False, density=1, touch=False):
    """An open page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = Tab(profile)
        try:
            page.attach(width, height, dark, density, touch)
            page.visit(path)
            yield page
        finally:
            page.close()


class Tab:
    """One browser with one page. `console` gathers messages, uncaught errors and failed requests as text."""

    def __init__(self, profile):
        to_browser, self.writing = os.pipe()
        self.reading, from_browser = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe"]
        flags += ["--disable-dev-shm-usage", "--disable-background-networking", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [find_chromium(), *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=lambda: as_three_and_four(to_browser, from_browser),
        )
        os.close(to_browser)
        os.close(from_browser)
        self.console, self.requests, self.unread, self.session, self.sent = [], [], b"", None, 0
        self.happened = set()

    def attach(self, width, height, dark, density, touch):
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width, height, density, touch)

    def visit(self, path):
        self.happened.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait_for("Page.loadEventFired")
        self.settle()

    def resize(self, width, height, density=1, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=density, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def settle(self):
        """Waits until the page has been drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def dom(self):
        return self.run("document.documentElement.outerHTML")

    def run(self, script):
        """Runs a script in the page and returns its value."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def fingers(self, kind, *points):
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": at} for at, (x, y) in enumerate(points)])
        self.settle()

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def screenshot(self, png, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(png).write_bytes(base64.b64decode(shot["data"]))

    def call(self, method, **parameters):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.writing, rest) :]
        while True:
            message = self.next_message()
            if message.get("id") == self.sent:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def wait_for(self, event):
        while event not in self.happened:
            self.next_message()

    def next_message(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.reading], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.reading, 1 << 20) if ready else b""
            assert chunk, f"Chromium said nothing for {TIMEOUT} s" if not ready else "Chromium ended"
            self.unread += chunk
        text, _, self.unread = self.unread.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.note(message["method"], message["params"])
        return message

    def note(self, event, details):
        self.happened.add(event)
        if event == "Runtime.consoleAPICalled":
            words = [str(word.get("value", word.get("description"))) for word in details["args"]]
            self.console.append(f"{details['type']}: {' '.join(words)}")
        elif event == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.console.append(f"uncaught: {thrown.get('exception', {}).get('description', thrown['text'])}")
        elif event == "Log.entryAdded":
            self.console.append(f"{details['entry']['level']}: {details['entry']['text']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.writing)
        os.close(self.reading)


def as_three_and_four(to_browser, from_browser):
    """Chromium reads from descriptor 3 and writes to 4. The pipes themselves may have these numbers, so they are moved first."""
    to_browser, from_browser = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
    os.dup2(to_browser, 3)
    os.dup2(from_browser, 4)
