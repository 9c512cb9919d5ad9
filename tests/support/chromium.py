"""A headless Chromium, driven through the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["MISSING", "Browser", "browser"]

_PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
#: Why there is no browser, or "".
MISSING = "" if _PROGRAM else "Chromium is not installed"


class Browser:
    """One page; `errors` are what its console and its scripts have complained of."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer, self._number, self._session = b"", 0, ""
        self.errors: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def _send(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self) -> Any:
        while b"\0" not in self._buffer:
            got = os.read(self._read, 1 << 16)
            if not got:
                raise RuntimeError("the browser has ended")
            self._buffer += got
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(message["params"]["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if message["params"]["type"] in ("error", "warning"):
                self.errors.append(str(message["params"]["args"]))
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.errors.append(message["params"]["entry"]["text"])
        return message

    def open(self, path: Path | str, width: int = 1500, height: int = 900) -> None:
        """Load a file, or what a URL names, and wait until its scripts have run."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self._send("Page.navigate", url=url)
        while self.run("document.readyState") != "complete":
            pass

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        given = {"expression": script, "returnByValue": True, "awaitPromise": True}
        result = self._send("Runtime.evaluate", **given)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self._send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def dark(self, on: bool) -> None:
        """Have the page believe that the user wants dark colours, or light ones."""
        value = "dark" if on else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self._send("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot")["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for the length of a `with` block."""
    assert _PROGRAM
    to_child, from_us = os.pipe()
    from_child, to_us = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:

        def pipes() -> None:
            # It reads from 3 and writes to 4.
            a, b = os.dup(to_child), os.dup(to_us)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run"
        command = [_PROGRAM, *flags.split(), f"--user-data-dir={home}", "--remote-debugging-pipe"]
        process = subprocess.Popen(
            command,
            preexec_fn=pipes,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(to_us)
        try:
            yield Browser(from_us, from_child)
        finally:
            os.close(from_us)
            process.kill()
            process.wait()
            os.close(from_child)
