#!/usr/bin/env python3
"""A harness in Python, without its model: what a program that runs agents does to give them background tasks.

    harness.py COMMAND...

Each COMMAND is started as a task of this agent session, then the agent's turn is over. As tasks end, the agent is woken:
a turn is opened with the notices, in which it reads the output. It ends when every task has. Nothing but the
standard library; the daemon runs (`sidetask status` starts it).
"""

import collections
import json
import os
import secrets
import socket
import sys

SOCKET = os.environ.get("SIDETASK_SOCKET") or os.path.join(
    os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "sidetask", "sidetask.sock"
)


class Daemon:
    """A connection that hosts one owner: it stays for as long as the agent's session does."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(SOCKET)
        self.lines = self.sock.makefile("r", encoding="utf-8")
        self.bells = collections.deque()  # came while an answer was awaited
        self.calls = 0
        self.token = secrets.token_hex(16)  # who has it is this owner: never print or log it

    def read(self):
        line = self.lines.readline()
        if not line:
            raise ConnectionError("the daemon has gone: connect and register again, with the same token")
        return json.loads(line)

    def call(self, method, **params):
        self.calls += 1
        message = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": {"token": self.token, **params}}
        self.sock.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = self.read()
            if answer.get("method") == "inbox/pending":
                self.bells.append(answer["params"])
            elif answer.get("id") == self.calls:
                break
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def bell(self):
        """Waits until a notice waits."""
        while not self.bells:
            message = self.read()
            if message.get("method") == "inbox/pending":
                self.bells.append(message["params"])
        return self.bells.popleft()


def wake(daemon):
    """One turn that nobody has asked for, unless the notices are gone by now. Gives the tasks that it was told of."""
    daemon.call("owner/update", status="busy")
    claim = daemon.call("inbox/claim", reason="wake")
    if claim.get("refused") == "budget":
        print("no wake is left: the rest waits for your next prompt", flush=True)
        sys.stdin.readline()  # a person's prompt: it takes what waits along, and restores the budget
        claim = daemon.call("inbox/claim", reason="user")
    told = [notice["id"] for notice in claim["notices"]]
    if told:
        for notice in claim["notices"]:
            print("told:", notice["text"])  # here: what stands in the prompt of the turn
        daemon.call("inbox/ack", lease=claim["lease"])  # the agent has them; before that they would come again
        for task in told:  # here: what the model does with its tool task_output
            print(daemon.call("task/output", id=task)["content"][0]["text"], flush=True)
    daemon.call("owner/update", status="idle")
    return told


def main():
    commands = sys.argv[1:]
    if not commands:
        sys.exit("usage: harness.py COMMAND...")
    try:
        daemon = Daemon()
        # The environment and the folder of this session, which its commands have.
        daemon.call(
            "owner/register", agent="harness.py", session=secrets.token_hex(4), cwd=os.getcwd(), env=dict(os.environ)
        )
        running = {daemon.call("task/start", command=command)["task"]["id"] for command in commands}
        print("started:", *sorted(running), flush=True)
        daemon.call("owner/update", status="idle")
        while running:
            daemon.bell()
            running -= set(wake(daemon))
        daemon.call("owner/dispose")
    except (OSError, RuntimeError) as error:
        sys.exit(f"harness.py: {SOCKET}: {error}")


if __name__ == "__main__":
    main()
