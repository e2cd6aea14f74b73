"""A stand-in for W&B's server, as much of it as `wandb sync` needs. Keeps what arrives, on 127.0.0.1 only."""

import base64
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Arrived:
    """What a run's uploads came to."""

    def __init__(self):
        self.lock = threading.Lock()
        self.upserts = []
        self.files = {}
        self.lines = {}
        self.doubles = 0
        self.gaps = 0
        self.complete = None
        self.keys = set()
        self.unknown = []

    def stream(self, body):
        for name, part in body.get("files", {}).items():
            lines = self.lines.setdefault(name, [])
            offset = part["offset"]
            if offset > len(lines):
                self.gaps += 1
            if name != "wandb-summary.json" and offset < len(lines):
                self.doubles += 1
            lines[offset : offset + len(part["content"])] = part["content"]
        if body.get("complete"):
            self.complete = body.get("exitcode")


def bucket(variables):
    project = {"id": "cA==", "name": variables.get("project") or "p", "entity": {"id": "ZQ==", "name": variables.get("entity") or "me"}}
    return {
        "id": "cnVu",
        "name": variables.get("name"),
        "displayName": variables.get("displayName"),
        "description": "",
        "config": variables.get("config") or "{}",
        "sweepName": None,
        "project": project,
        "historyLineCount": 0,
    }


def answer(arrived, query, variables, base):
    if "upsertBucket" in query:
        arrived.upserts.append(variables)
        return {"upsertBucket": {"bucket": bucket(variables), "inserted": True}}
    if "createRunFiles" in query:
        files = [{"name": name, "uploadUrl": f"{base}/upload/{name}"} for name in variables["files"]]
        return {"createRunFiles": {"runID": "cnVu", "uploadHeaders": [], "files": files}}
    if "viewer" in query:
        return {"viewer": {"id": "dQ==", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}}}
    if "serverInfo" in query:
        return {"serverInfo": {"features": [], "latestLocalVersionInfo": None, "cliVersionInfo": {"max_cli_version": "0.99.0"}}}
    if "__type" in query:
        return {"__type": {"fields": [], "inputFields": []}}
    arrived.unknown.append(query.strip().split("(")[0][:80])
    return {}


def handler(arrived):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def body(self):
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

        def reply(self, value):
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.reply({})

        def do_PUT(self):
            with arrived.lock:
                arrived.files[self.path.removeprefix("/upload/")] = self.body()
            self.reply({})

        def do_POST(self):
            data = self.body()
            key = self.headers.get("authorization", "")
            with arrived.lock:
                if key.startswith("Basic "):
                    arrived.keys.add(base64.b64decode(key[6:]).decode())
                if self.path.endswith("/file_stream"):
                    arrived.stream(json.loads(data))
                    return self.reply({})
                request = json.loads(data)
                base = f"http://127.0.0.1:{self.server.server_address[1]}"
                self.reply({"data": answer(arrived, request["query"], request.get("variables") or {}, base)})

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that hangs up is no news."""


def start():
    arrived = Arrived()
    server = Server(("127.0.0.1", 0), handler(arrived))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return arrived, server, f"http://127.0.0.1:{server.server_address[1]}"
