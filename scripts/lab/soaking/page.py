"""Use a running app's web interface without a browser: send and follow events as its script does."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tests.support.raw_http import ask, config, said, stream

ANSWER = ("follow", 0, 8)
"""Event that follows an answer: its name, and the numbers of components that it reads and writes."""


class RefusedByPage(Exception):
    """The web interface reported an error."""


def _require(done: bool, what: str, said: str) -> None:
    if not done:
        raise RefusedByPage(f"{what} failed on the page: {said[:500]}")


class Page:
    """One browser tab. Events read each component's initial value, except for those in `values`."""

    _tabs = itertools.count(1)

    def __init__(self, address: str) -> None:
        self.address, self.tab = address, f"soak{next(self._tabs)}"
        self.values: dict[str, object] = {}
        told = config(address)
        self._components = {one["id"]: one["props"] | {"type": one["type"]} for one in told["components"]}
        self._events = told["dependencies"]
        self._loads = [one for one in self._events if any(name == "load" for _, name in one["targets"])]
        for event in self._loads:
            self._send(event, None)

    def do(self, component: str, trigger: str, *, reads: dict[str, object] | None = None, **event: object) -> list[Any]:
        """Trigger a component's event with its data, and return the values that it writes.

        Raises RefusedByPage if the web interface reports an error.
        """
        for one in self._events:
            if any(name == trigger and self._name(target) == component for target, name in one["targets"]):
                return self._send(one, event or None, reads or {})
        raise RefusedByPage(f"{component} has no {trigger}")

    def follow(self) -> None:
        """Follow the answer in this tab's chat to its end."""
        name, reads, writes = ANSWER
        found = (
            one
            for one in self._events
            if str(one["api_name"]).startswith(name) and (len(one["inputs"]), len(one["outputs"])) == (reads, writes)
        )
        self._send(next(found), None)

    def upload(self, files: dict[str, bytes]) -> None:
        """Upload files to the documents column, and wait until they are added."""
        given = [self._uploaded(name, content) for name, content in files.items()]
        self.do("lc-drop", "upload", reads={"lc-drop": given})
        self.do("lc-uploads", "focus")

    def _uploaded(self, name: str, content: bytes) -> dict[str, object]:
        head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode()
        answer = ask(
            self.address, "/gradio_api/upload", method="POST", body=head + content + b"\r\n--b--\r\n",
            Content_Type="multipart/form-data; boundary=b",
        )  # fmt: skip
        _require(answer.status == 200, f"upload of {name}", answer.text)
        path = json.loads(answer.body)[0]
        return {"path": path, "orig_name": Path(path).name, "meta": {"_type": "gradio.FileData"}}

    def _send(self, one: dict[str, Any], event: object, reads: dict[str, object] | None = None) -> list[Any]:
        read = self.values | (reads or {})
        data = [read.get(self._name(number), self._components[number].get("value")) for number in one["inputs"]]
        call = {"data": data, "fn_index": one["id"], "session_hash": self.tab, "event_data": event}
        sent = said(self.address, call)
        _require(sent.status == 200, one["api_name"], sent.text)
        answer = stream(self.address, f"/gradio_api/queue/data?session_hash={self.tab}")
        messages = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
        ended = [message for message in messages if message["msg"] == "process_completed"]
        _require(bool(ended) and ended[-1]["success"], one["api_name"], answer.text)
        written = list(ended[-1]["output"].get("data", []))
        for number, value in zip(one["outputs"], written, strict=False):
            if self._name(number) == "lc-where" and isinstance(value, str):
                self.values["lc-where"] = value
        return written

    def _name(self, number: int) -> str:
        return str(self._components.get(number, {}).get("elem_id") or number)
