#!/usr/bin/env python3
"""A driver of Isolde for Redis: optimistic transactions with WATCH, MULTI and EXEC.

    isolde test 'driver:python3 examples/drivers/redis_driver.py'                  a throwaway server
    isolde test 'driver:python3 examples/drivers/redis_driver.py 127.0.0.1:6379'   your own

What a transaction reads is watched, and what it writes is kept here until it commits: EXEC does it all
at once, or nothing if somebody has touched what is watched. With REDIS_DRIVER_NO_WATCH=1 nothing is
watched, and updates are lost: that is how to see that Isolde finds it.
"""
import json, os, socket, subprocess, sys, tempfile, time

WATCHES = os.environ.get("REDIS_DRIVER_NO_WATCH") is None
KINDS = ["read", "list", "write", "append", "cas", "insert"]
LEVEL = {"name": "watch", "promises": "strict-serializable", "remark": "WATCH what is read, MULTI, EXEC"}

class Refused(Exception): """What is answered by an error: a code, a message, perhaps a class. It is aborted."""
class Redis:
    """A connection: RESP, the protocol of Redis, as far as it is needed."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.socket(socket.AF_INET if host else socket.AF_UNIX)
        self.socket.connect((host, int(port)) if host else address)
        self.answers = self.socket.makefile("rb")

    def run(self, *commands):
        """Sends all commands at once; the answer to the last one."""
        message = b""
        for words in commands:
            words = [str(word).encode() for word in words]
            message += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.socket.sendall(message)
        return [self.read() for _ in commands][-1]

    def read(self):
        line = self.answers.readline()
        kind, rest = line[:1], line[1:-2].decode()
        if kind not in (b"+", b":", b"$", b"*"):
            # An error, or no answer at all. The process ends, and Isolde takes a COMMIT for unknown.
            raise ConnectionError("Redis said %r" % line)
        if kind == b"$":
            return None if rest == "-1" else self.answers.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return None if rest == "-1" else [self.read() for _ in range(int(rest))]
        return rest

class Driver:
    def __init__(self):
        self.address = sys.argv[1] if len(sys.argv) > 1 else None
        self.server, self.seen, self.tables = None, None, {}

    def start(self):
        """A throwaway server, behind a socket in a folder of ours, so that nobody else's can answer."""
        self.folder = tempfile.TemporaryDirectory(prefix="isolde-redis-")  # Gone when this process is.
        self.address = self.folder.name + "/socket"
        words = ["redis-server", "--port", "0", "--unixsocket", self.address, "--save", ""]
        self.server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        # The file is there before the server listens: it is ready when it takes a connection.
        while self.server.poll() is None and socket.socket(socket.AF_UNIX).connect_ex(self.address):
            time.sleep(0.01)

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait()

    def hello(self, ask):
        if not self.address:
            self.start()
        self.redis, self.run = Redis(self.address), ask["run"]
        version = self.redis.run(("INFO", "server")).split("redis_version:")[1].split()[0]
        return {"protocol": 1, "name": "Redis", "version": version, "levels": [LEVEL], "kinds": KINDS,
                "context": self.address}

    def create(self, ask):
        self.tables[ask["table"]] = keys = [self.key({**ask, "row": row}) for row in range(ask["rows"])]
        return not ask["filled"] or self.redis.run(["MSET"] + [w for key in keys for w in (key, 0)]) == "OK"
    def drop(self, ask):
        return self.redis.run(["DEL"] + self.tables.pop(ask["table"])) is not None

    def open(self, ask):
        if ask["level"] != LEVEL["name"]:
            raise Refused("level", "there is no level " + ask["level"])
        self.redis, self.run = Redis(ask["context"]), ask["run"]
        return True

    def key(self, ask):
        return "%s:%d:%d" % (self.run, ask["table"], ask["row"])

    def begin(self, _ask):
        self.seen, self.writes = {}, []  # What is in the rows as this transaction sees it; what to do.
        return True

    def look(self, ask, *command):
        """What is in a row, watched from the first look on."""
        key = self.key(ask)
        if key not in self.seen:
            self.seen[key] = self.redis.run(*[("WATCH", key)] * WATCHES, (command[0], key, *command[1:]))
        return self.seen[key]

    def read(self, ask):
        value = self.look(ask, "GET")
        return value and int(value)
    def list(self, ask):
        return [int(value) for value in self.look(ask, "LRANGE", 0, -1)] or None

    def write(self, ask):
        self.seen[self.key(ask)] = ask["value"]
        self.writes.append(("SET", self.key(ask), ask["value"]))
        return True
    def append(self, ask):
        self.seen[self.key(ask)] = (self.list(ask) or []) + [ask["value"]]
        return self.writes.append(("RPUSH", self.key(ask), ask["value"])) is None
    def cas(self, ask):
        return self.read(ask) == ask["expected"] and self.write(ask)
    def insert(self, ask):
        return self.read(ask) is None and self.write(ask)

    def commit(self, _ask):
        self.seen = None
        if self.redis.run(("MULTI",), *self.writes, ("EXEC",)) is None:
            raise Refused("conflict", "somebody has touched what was read", "serialization")
        return "committed"
    def rollback(self, _ask):
        self.seen = None
        return self.redis.run(("UNWATCH",)) == "OK"

    def answer(self, ask):
        if ask["do"] not in KINDS + "hello create drop open begin commit rollback".split():
            raise Refused("request", "there is no request " + ask["do"])
        if ask["do"] in KINDS + ["commit"] and self.seen is None:
            raise Refused("no-transaction", "there is no transaction")
        return getattr(self, ask["do"])(ask)

driver = Driver()
try:
    for ask in map(json.loads, sys.stdin):
        if ask["do"] == "close":
            break
        try:
            answer = {"ok": driver.answer(ask)}
        except Refused as refused:
            driver.seen = None
            error = dict(zip(("code", "message", "class"), refused.args), after="aborted")
            answer = {"error": {**error, "expected": error["code"] == "conflict"}}
        print(json.dumps({"id": ask["id"], **answer}), flush=True)
finally:
    driver.stop()
