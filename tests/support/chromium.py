"""A headless Chromium for tests of pages: it runs once and opens file after file, driven by the
DevTools protocol over two pipes (no port, no packages besides the standard library).

    with Chromium(folder) as browser:
        tab = browser.open(path)
        tab.value("document.title")
        tab.problems  # exceptions, console errors, what the CSP refused

chromium.py PAGE OUT.png [SCRIPT]: a picture of the page, 1280x800, after the script has run in it.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path

SKIPPED = 77  # exit code of a test that cannot run here
VOID = frozenset("area br col embed hr img input link meta source".split())
MODIFIERS = {"shift": 8}
KEY_CODES = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36,
             "End": 35, "Tab": 9, "Enter": 13, " ": 32}


def program():
    """Chromium's path; ends the test program as skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        print("skipped: there is no chromium")
        sys.exit(SKIPPED)
    return found


class Chromium:
    TIMEOUT_S = 60  # of one answer: a browser that hangs must end the test

    def __init__(self, folder):
        self._profile = tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()

        def as_3_and_4():  # the descriptors that --remote-debugging-pipe reads and writes
            ours = os.dup(from_us), os.dup(to_us)
            os.dup2(ours[0], 3)
            os.dup2(ours[1], 4)

        self._process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
             f"--user-data-dir={self._profile.name}", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name}, close_fds=False, preexec_fn=as_3_and_4)
        os.close(from_us)
        os.close(to_us)
        self._to, self._from = to_browser, from_browser
        self._numbers = itertools.count(1)
        self._received = b""
        self.events = []  # (session, method, params) not yet looked at

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def _message(self):
        deadline = time.monotonic() + self.TIMEOUT_S
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], deadline - time.monotonic())
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {self.TIMEOUT_S} s")
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise EOFError("Chromium has ended")
            self._received += piece
        text, self._received = self._received.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        number = next(self._numbers)
        call = {"id": number, "method": method, "params": params}
        if session:
            call["sessionId"] = session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        while True:
            message = self._message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append((message.get("sessionId"), message.get("method"),
                                message.get("params")))

    def wait_for(self, session, method):
        while True:
            for i, (of, name, params) in enumerate(self.events):
                if (of, name) == (session, method):
                    del self.events[i]
                    return params
            message = self._message()
            self.events.append((message.get("sessionId"), message.get("method"),
                                message.get("params")))

    def open(self, path, hash_="", width=1280, height=800):
        """A new tab with the file, after its scripts have run."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, target, session)
        for domain in ("Page", "Runtime", "Log"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        tab.go_to(f"file://{path}{hash_}")
        return tab


class Tab:
    def __init__(self, browser, target, session):
        self._browser, self._target, self._session = browser, target, session
        self._problems = []

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def go_to(self, url):
        self.call("Page.navigate", url=url)
        self._browser.wait_for(self._session, "Page.loadEventFired")

    def reload(self):
        self.call("Page.reload")
        self._browser.wait_for(self._session, "Page.loadEventFired")

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)

    @property
    def problems(self):
        """Exceptions, errors and warnings of the console so far, one line each."""
        rest = []
        for session, method, params in self._browser.events:
            if session != self._session:
                rest.append((session, method, params))
            elif method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                thrown = details.get("exception", {}).get("description", "")
                self._problems.append(f"{details['text']} {thrown}")
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                self._problems.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                self._problems.append(str(params["args"]))
        self._browser.events = rest
        return self._problems

    def value(self, script):
        """What the expression is worth, as a value of Python."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def page(self):
        """The document as it is now."""
        return Page(self.value("document.documentElement.outerHTML")).root

    def press(self, key):
        """A key on the element that has the focus, as a keyboard sends it."""
        plain = {"key": key, "windowsVirtualKeyCode": KEY_CODES.get(key, ord(key[0].upper()))}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **plain, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **plain)

    def type_text(self, text):
        self.call("Input.insertText", text=text)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """"light" or "dark"."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def accessible_nodes(self):
        """(role, name, focusable) of everything that a screen reader is told about."""
        found = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if node.get("ignored"):
                continue
            focusable = any(p["name"] == "focusable" and p["value"].get("value")
                            for p in node.get("properties", []))
            found.append((node["role"]["value"], node.get("name", {}).get("value", ""), focusable))
        return found

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))


class Node:
    def __init__(self, tag, attributes, parent):
        self.tag, self.parent, self.children = tag, parent, []
        self.attributes = {name: value or "" for name, value in attributes}

    def text(self):
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)

    def all(self, tag=None, **attributes):
        """Nodes below this one; class_="x" asks for one of the classes, data_row for data-row."""
        found = []
        for child in self.children:
            if isinstance(child, str):
                continue
            if (tag is None or child.tag == tag) and child.has(attributes):
                found.append(child)
            found += child.all(tag, **attributes)
        return found

    def has(self, attributes):
        for name, value in attributes.items():
            own = self.attributes.get(name.rstrip("_").replace("_", "-"))
            if own is None or value not in (own.split() if name == "class_" else [own]):
                return False
        return True

    def one(self, tag=None, **attributes):
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements {tag} {attributes}"
        return found[0]

    def shown(self):
        return "hidden" not in self.attributes and (self.parent is None or self.parent.shown())


class Page(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.root = self.at = Node("", [], None)
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        node = Node(tag, attrs, self.at)
        self.at.children.append(node)
        if tag not in VOID:
            self.at = node

    def handle_endtag(self, tag):
        node = self.at
        while node is not self.root and node.tag != tag:
            node = node.parent
        if node is not self.root:
            self.at = node.parent

    def handle_data(self, data):
        self.at.children.append(data)


def take_picture(page, out, script=""):
    with tempfile.TemporaryDirectory() as folder, Chromium(folder) as browser:
        tab = browser.open(Path(page).resolve())
        tab.value(script)
        tab.picture(out, whole=False)


if __name__ == "__main__":
    take_picture(*sys.argv[1:])
