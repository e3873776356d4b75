"""A server whose events are told to an endpoint, and the endpoint, which answers what the test wants."""

import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time

from browser import Server

APP = "com.acme.pizza"


class Receiver:
    """Takes webhooks on the loopback, or refuses them with a status."""

    def __init__(self):
        receiver = self
        self.status = 500
        self.calls = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = receiver.status
                receiver.calls.append((status, self.headers["webhook-id"], json.loads(body)))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=not-to-be-shown"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        return [(message, event) for status, message, event in self.calls if status < 300]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class WebhookServer(Server):
    """`islet serve` with one webhook, and an APNs that is not there."""

    def __init__(self, binary, receiver):
        self.folder = tempfile.mkdtemp(prefix="islet-webhooks-")
        self.log = open(os.path.join(self.folder, "server.log"), "w")
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                        self._path("key.p8")], check=True, stderr=subprocess.DEVNULL)
        self._write("webhook-secret", "whsec_" + "A" * 32)
        self._write("islet.yaml", f"""
listen: 127.0.0.1:0
storage: sqlite:islet.db
apps:
  - bundleID: {APP}
    apns:
      sandbox: {{keyFile: key.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP, endpoint: "https://127.0.0.1:1"}}
    webhooks:
      - {{name: backend, url: "{receiver.url}", secretFile: webhook-secret, allowPrivate: true}}
    activities:
      - {{type: Order, attributesType: OrderAttributes, policy: {{start: appOnly}}}}
""")
        made = subprocess.run([binary, "keys", "create", "--app", APP, "--scope", "backend"], cwd=self.folder,
                              check=True, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.key = made.stdout.strip()
        self.process = subprocess.Popen([binary, "serve"], stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        cwd=self.folder)
        self.address = None
        for line in self.process.stdout:
            found = re.match(r"islet listening on (http://\S+)", line)
            if found:
                self.address = found.group(1)
                break
        if not self.address:
            self.close()
            raise SystemExit("the server did not start")

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, text):
        with open(os.open(self._path(name), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text)

    def webhook(self):
        return self.call("GET", "/v1/webhooks")["webhooks"][0]

    def make_events(self):
        """A card that a phone reports came to be, shows the newest state, and is swiped away."""
        self.call("PUT", "/v1/devices/phone-1", {"user": "ada", "osVersion": "18.1"})
        self.call("PUT", "/v1/activities/order-1", {
            "type": "Order", "state": {"step": 1}, "attributes": {}, "audience": {"users": ["ada"]}})
        self.call("PUT", "/v1/devices/phone-1/instances/card-1", {
            "type": "Order", "activity": "order-1", "state": "active", "contentState": {"step": 1}})
        self.call("PUT", "/v1/devices/phone-1/instances/card-1", {
            "type": "Order", "activity": "order-1", "state": "dismissed"})

    def make_channel(self):
        """A broadcast channel of the activity, whose cards have no state yet. The server has nothing to do with it."""
        with sqlite3.connect(self._path("islet.db"), timeout=30) as database:
            database.execute(
                "INSERT INTO channel (activity, env, run, app, storage, state, id, has_cards, awaited, sent_rev,"
                " parked_rev, alerted_rev, ts, ends, tries, fence)"
                " SELECT no, 'sandbox', run, app, 1, 'open', 'AAAABBBB', 1, 0, 0, 0, 0, 0, 0, 0, 0 FROM activity")

    def give_up(self):
        """What waits is given up now, and not after a day of tries."""
        with sqlite3.connect(self._path("islet.db"), timeout=30) as database:
            database.execute("UPDATE webhook_delivery SET dead_at = ?", (int(time.time() * 1000),))
            database.execute("UPDATE webhook SET version = version + 1")

    def close(self):
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)
