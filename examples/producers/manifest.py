#!/usr/bin/env python3
"""A producer in Python: the checksums of a folder's files, as a task of kind "manifest" with one final output.

    manifest.py FOLDER

The task is the person's own; with SIDETASK_SESSION it belongs to that agent session, whose model then is told of its end.
Nothing but the standard library. Prints the task's id. If the connection is lost (a daemon that is restarted), it
comes back for its task with task/resume within the daemon's owners.producerGraceMs.
"""

import hashlib
import json
import os
import pathlib
import socket
import sys
import threading
import time

COME_BACK_S = 50  # how long a daemon that is restarted is waited for
SOCKET = os.environ.get("SIDETASK_SOCKET") or os.path.join(
    os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "sidetask", "sidetask.sock"
)


class Refused(Exception):
    """The daemon's error answer."""


class Daemon:
    """One connection. A thread reads what the daemon says until the connection ends."""

    def __init__(self, cancel):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(SOCKET)
        self.cancel = cancel  # set when the daemon asks to cancel
        self.answers = {}
        self.calls = 0
        self.ended = False
        self.news = threading.Condition()  # guards answers and ended
        threading.Thread(target=self.listen, daemon=True).start()

    def send(self, message):
        self.sock.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def listen(self):
        try:
            for line in self.sock.makefile("r", encoding="utf-8"):
                message = json.loads(line)
                if message.get("method") == "task/cancel":
                    self.cancel.set()
                    self.send({"id": message["id"], "result": {}})
                elif "method" not in message:
                    with self.news:
                        self.answers[message["id"]] = message
                        self.news.notify_all()
        except OSError:
            pass
        with self.news:
            self.ended = True
            self.news.notify_all()

    def call(self, method, **params):
        self.calls += 1
        number = self.calls
        self.send({"id": number, "method": method, "params": params})
        with self.news:
            self.news.wait_for(lambda: number in self.answers or self.ended)
            answer = self.answers.pop(number, None)
        if answer is None:
            raise ConnectionError("the daemon has gone")
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return answer["result"]


def manifest(folder, cancel):
    """Lines of checksum and path; None when cancelled."""
    lines = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if cancel.is_set():
            return None
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder)}")
    return "\n".join(lines)


def work(folder, cancel):
    """What the task's end is to be."""
    try:
        text = manifest(folder, cancel)
    except OSError as error:
        return {"status": "failed", "detail": str(error)}
    if text is None:
        return {"status": "killed"}
    return {"status": "completed", "output": text}


def come_back(task, key, cancel):
    """A new connection that holds the task again."""
    for left in reversed(range(COME_BACK_S)):
        try:
            daemon = Daemon(cancel)
            daemon.call("task/resume", id=task, key=key)
            return daemon
        except OSError:
            if not left:
                raise
            time.sleep(1)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: manifest.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    session = os.environ.get("SIDETASK_SESSION")
    cancel = threading.Event()
    try:
        daemon = Daemon(cancel)
        held = daemon.call(
            "task/register", kind="manifest", label=str(folder), stream=False, **({"session": session} if session else {})
        )
    except (OSError, Refused) as error:
        sys.exit(f"manifest.py: {SOCKET}: {error}")
    task = held["task"]["id"]
    print(task, flush=True)
    outcome = work(folder, cancel)
    try:
        daemon.call("task/settle", id=task, **outcome)
    except OSError:  # the daemon was restarted meanwhile
        daemon = come_back(task, held["key"], cancel)
        daemon.call("task/settle", id=task, **outcome)


if __name__ == "__main__":
    main()
