#!/usr/bin/env python3
"""Starts both compose files with podman-compose, and plays orders on simulated phones.

`script/test-deploy --compose LAYOUT` runs it. It makes the images, and a storage for podman that is not this machine's.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import yaml

CREATE = ["islet", "keys", "create", "--config", "/simulator/islet.yaml", "--app", "com.example.pizza"]
FOLDER = pathlib.Path(__file__).resolve().parents[1] / "compose"
DOCUMENT = FOLDER.parents[1] / "docs/deploying.md"
# Machines under load are slow, and a node may take over meanwhile.
LIMIT = 90


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def call(method, url, body=None, token=None):
    """The status and the JSON of an answer. Status 0: nobody answers."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    except OSError:
        return 0, {}
    try:
        return status, json.loads(text or b"{}")
    except ValueError:
        return status, {}


def until(what, holds, limit=LIMIT):
    """Waits until a check returns something."""
    end = time.monotonic() + limit
    while True:
        result = holds()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit} s in vain until {what}")
        time.sleep(0.2)


def block(words):
    """The shell block of the document that contains some words."""
    found = [text for text in re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.S) if words in text]
    assert len(found) == 1, f"{DOCUMENT} has {len(found)} blocks with {words}"
    return found[0]


class Stack:
    """A compose file that is up."""

    def __init__(self, project, file, variables):
        self.project = project
        self.compose = ["podman-compose", "--project-name", project, "--file", file]
        self.variables = {name: str(value) for name, value in variables.items()}

    def run(self, *words, check=True, limit=300):
        done = subprocess.run(
            words, cwd=FOLDER, env={**os.environ, **self.variables}, capture_output=True, text=True, timeout=limit,
            check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done

    def up(self):
        self.run(*self.compose, "up", "--detach")

    def down(self, *more):
        # podman-compose does not know stop_grace_period.
        self.run(*self.compose, "down", "--timeout", "40", *more)

    def podman(self, *words, check=True, limit=300):
        return self.run("podman", *words, check=check, limit=limit)

    def container(self, service):
        return f"{self.project}_{service}_1"

    def inside(self, service, *words, check=True):
        return self.podman("exec", self.container(service), *words, check=check)

    def log(self, service):
        done = self.podman("logs", self.container(service), check=False)
        return done.stdout + done.stderr

    def logs(self):
        names = self.podman("ps", "--all", "--format", "{{.Names}}").stdout.split()
        return "\n".join(f"--- {name}\n" + self.podman("logs", name, check=False).stderr[-3000:] for name in names)


class Play:
    """The calls of a shop and of bob's phone."""

    def __init__(self, phones, token, key):
        self.phones, self.token, self.key = phones, token, key

    def add_phone(self):
        phone = {"id": "bob-iphone", "user": "bob", "bundleID": "com.example.pizza", "appState": "killed",
                 "activityTypes": ["OrderTrackingAttributes"]}
        return call("POST", f"{self.phones}/v1/phones", phone, self.token)[0]

    def report(self, server, order, status, eta, alert=None):
        """Sets the state of an order. A call whose answer was lost or put off is repeated, as a shop does."""
        body = {
            "type": "OrderTracking", "attributes": {"orderId": order, "restaurant": "Da Mario"},
            "state": {"status": status, "progress": 0.5, "eta": eta}, "audience": {"users": ["bob"]},
            "priority": "high", **({"alert": {"title": alert, "body": f"{eta} minutes"}} if alert else {})}

        def answer():
            code, told = call("PUT", f"{server}/v1/activities/{order}", body, self.key)
            if code in (0, 503):
                return None
            if code not in (200, 201):
                raise AssertionError(f"{order} is refused: {code} {told}")
            return told

        return until(f"{order} is taken", answer)

    def shows(self, order, status, alert=None):
        """Waits until the lock screen has the card in that state."""
        def found():
            _, phone = call("GET", f"{self.phones}/v1/phones/bob-iphone", token=self.token)
            for card in phone.get("lockScreen", {}).get("cards", []):
                said = (card.get("alert") or {}).get("title")
                if card["attributes"].get("orderId") == order and card["contentState"]["status"] == status:
                    return alert is None or said == alert
            return False

        until(f"the phone shows that {order} is {status}", found)


class ComposeTest(unittest.TestCase):
    """What both files have in common."""

    file, project, service, ports = "", "", "", ()

    @classmethod
    def setUpClass(cls):
        if cls is ComposeTest:
            raise unittest.SkipTest("its subclasses are the tests")
        cls.port = {name: free_port() for name in (*cls.ports, "ISLET_SIMULATOR_PORT")}
        cls.stack = Stack(cls.project, cls.file, cls.port)
        cls.addClassCleanup(cls.stack.down, "--volumes")
        began = time.monotonic()
        cls.stack.up()
        cls.servers = [f"http://localhost:{cls.port[name]}" for name in cls.ports]
        try:
            for server in cls.servers:
                until(f"{server} is ready", lambda server=server: call("GET", f"{server}/readyz")[0] == 200)
            print(f"{cls.file}: ready after {time.monotonic() - began:.0f} s")
            # As the first lines of the file say.
            said = cls.stack.run(*cls.stack.compose, "exec", "-T", cls.service, *CREATE)
            key = re.search(r"^islet_\S+$", said.stdout, re.M)
            assert key, f"no key was made: {said.stdout}{said.stderr}"
        except AssertionError:
            print(cls.stack.logs())
            raise
        cls.play = Play(f"http://localhost:{cls.port['ISLET_SIMULATOR_PORT']}", "simulator", key.group())

    def tearDown(self):
        if any(failure for _, failure in getattr(self._outcome, "errors", [])):
            print(self.stack.logs())

    def check_containers(self, services):
        for service in services:
            with self.subTest(service):
                given = json.loads(self.stack.podman("inspect", self.stack.container(service)).stdout)[0]
                self.assertTrue(given["HostConfig"]["ReadonlyRootfs"])
                self.assertIn("no-new-privileges", given["HostConfig"]["SecurityOpt"])
                status = pathlib.Path(f"/proc/{given['State']['Pid']}/status").read_text()
                self.assertEqual(re.search(r"^Uid:\t(\d+)", status, re.M).group(1), "65532")
                self.assertEqual(re.search(r"^CapEff:\t(\w+)", status, re.M).group(1), "0" * 16)
                self.assertEqual(re.search(r"^NoNewPrivs:\t(\d)", status, re.M).group(1), "1")
                said = self.stack.inside(service, "islet", "keys", "new-ring", "--output=/usr/ring", check=False)
                self.assertIn("Read-only file system", said.stderr)

    def healthy(self, service):
        """Runs the check of the file. podman-compose 1.0.3 gives it to a shell, which the image does not have."""
        given = yaml.safe_load((FOLDER / self.file).read_text())["services"][service]["healthcheck"]["test"]
        self.assertEqual(given[0], "CMD")
        return self.stack.inside(service, *given[1:], check=False).returncode == 0

    def mode(self, volume, name):
        """Mode and owner of a file in a volume."""
        place = self.stack.podman("volume", "inspect", "--format", "{{.Mountpoint}}", f"{self.project}_{volume}")
        status = (pathlib.Path(place.stdout.strip()) / name).stat()
        return f"{status.st_mode & 0o777:o} {status.st_uid}"


class OneServer(ComposeTest):
    """compose.yaml: a server with SQLite, and the simulator."""

    file, project, service, ports = "compose.yaml", "islet-test", "server", ("ISLET_PORT",)

    def test_0_the_calls_of_the_document(self):
        script = block("KEY=islet_…").replace("KEY=islet_…", f"KEY={self.play.key}")
        for port, name in (("8080", "ISLET_PORT"), ("2198", "ISLET_SIMULATOR_PORT")):
            script = script.replace(f"localhost:{port}/", f"localhost:{self.port[name]}/")
        *first, last = re.split(r"^(?=curl )", script, flags=re.M)
        self.stack.run("sh", "-euc", "".join(first).replace("curl ", "curl --silent --fail "))
        look = first[0] + last.replace("curl ", "curl --silent --fail ")
        until("the phone of the document shows the order", lambda: json.loads(
            self.stack.run("sh", "-euc", look).stdout)["lockScreen"]["cards"])

    def test_1_an_order_reaches_the_lock_screen(self):
        server = self.servers[0]
        self.assertEqual(self.play.add_phone(), 201)
        self.play.report(server, "order-11", "preparing", 25)
        self.play.shows("order-11", "preparing")
        self.play.report(server, "order-11", "delivering", 5, "Your order is on its way")
        self.play.shows("order-11", "delivering", "Your order is on its way")

    def test_2_the_console_is_there_and_others_are_refused(self):
        server = self.servers[0]
        with urllib.request.urlopen(server, timeout=15) as page:
            self.assertIn("<html", page.read().decode())
        self.assertEqual(call("GET", f"{server}/v1/activities/order-11")[0], 401)
        self.assertEqual(call("GET", f"{self.play.phones}/v1/simulator")[0], 401)

    def test_3_containers_have_no_rights_and_are_healthy(self):
        self.check_containers(["simulator", "server"])
        self.assertTrue(self.healthy("server"))
        for name in ("islet.db", "islet.db.keys", "phones-key"):
            self.assertEqual(self.mode("state", name), "600 65532", name)

    def test_4_a_second_server_on_the_volume_is_refused(self):
        image = json.loads(self.stack.podman("inspect", self.stack.container("server")).stdout)[0]["ImageName"]
        second = self.stack.podman(
            "run", "--rm", "--read-only", "--tmpfs", "/tmp", "--volumes-from", self.stack.container("server"),
            "--env", "ISLET_LISTEN=127.0.0.1:8080", "--env", "ISLET_STORAGE=sqlite:/var/lib/islet/islet.db",
            image, "serve", "--config=/simulator/islet.yaml", check=False)
        self.assertEqual(second.returncode, 1, second.stderr)
        self.assertIn("in use by another process", second.stderr)
        self.assertEqual(call("GET", f"{self.servers[0]}/readyz")[0], 200)

    def test_5_a_restart_goes_on(self):
        name = self.stack.container("server")
        began = time.monotonic()
        self.stack.podman("stop", "--time", "40", name)
        took = time.monotonic() - began
        self.assertLess(took, 38)
        state = json.loads(self.stack.podman("inspect", name).stdout)[0]["State"]
        self.assertEqual(state["ExitCode"], 0)
        self.stack.podman("start", name)
        self.play.report(self.servers[0], "order-11", "delivered", 0)
        self.play.shows("order-11", "delivered")
        print(f"stopped in {took:.1f} s")

    def test_6_down_and_up_again_keep_the_data(self):
        self.stack.down()
        self.stack.up()
        server = self.servers[0]

        def state():
            return call("GET", f"{server}/v1/activities/order-11", token=self.play.key)[1].get("state")

        self.assertEqual(until("the order is there", state)["status"], "delivered")
        # The simulator has a new key and certificate, and no phones. The server pushes to it nevertheless.
        self.assertEqual(until("the simulator answers", self.play.add_phone), 201)
        self.play.report(server, "order-12", "preparing", 9)
        self.play.shows("order-12", "preparing")


class Nodes(ComposeTest):
    """compose.nodes.yaml: three nodes on PostgreSQL, and the simulator."""

    file, project, service = "compose.nodes.yaml", "islet-nodes-test", "node-1"
    ports = ("ISLET_PORT_1", "ISLET_PORT_2", "ISLET_PORT_3")

    def nodes(self, through):
        said = self.stack.inside(f"node-{through}", "islet", "nodes", "--config=/simulator/islet.yaml", "--json")
        return json.loads(said.stdout)

    def owner(self, through):
        """The number of the node that owns the database."""
        owners = [node["address"] for node in self.nodes(through) if node["role"] == "owner"]
        return int(re.fullmatch(r"http://node-(\d):8090", owners[0]).group(1)) if owners else None

    def test_1_every_node_takes_calls(self):
        until("three nodes are known", lambda: len(self.nodes(1)) == 3)
        self.assertEqual(self.play.add_phone(), 201)
        for status, server in zip(("preparing", "ready", "picked_up"), self.servers):
            self.play.report(server, "order-11", status, 20)
            self.play.shows("order-11", status)

    def test_2_containers_have_no_rights_and_are_healthy(self):
        self.check_containers(["simulator", "node-1", "node-2", "node-3"])
        for service in ("postgres", "node-1", "node-2", "node-3"):
            self.assertTrue(self.healthy(service), service)
        self.assertEqual(self.mode("state", "token-keys.json"), "600 65532")

    def test_3_a_killed_owner_is_replaced(self):
        owner = self.owner(1)
        other = owner % 3 + 1
        self.stack.podman("kill", self.stack.container(f"node-{owner}"))
        began = time.monotonic()
        self.play.report(self.servers[other - 1], "order-11", "delivering", 5, "Your order is on its way")
        took = time.monotonic() - began
        self.play.shows("order-11", "delivering", "Your order is on its way")
        self.assertNotEqual(self.owner(other), owner)
        self.stack.podman("start", self.stack.container(f"node-{owner}"), check=False)
        server = self.servers[owner - 1]
        until("it is a door", lambda: call("GET", f"{server}/readyz")[0] == 200)
        self.play.report(server, "order-11", "delivered", 0)
        self.play.shows("order-11", "delivered")
        print(f"node-{owner} was killed; another took the call after {took:.1f} s")

    def test_4_the_database_restarts(self):
        self.stack.podman("restart", "--time", "40", self.stack.container("postgres"))
        self.play.report(self.servers[0], "order-12", "preparing", 9)
        self.play.shows("order-12", "preparing")


class OneContainer(unittest.TestCase):
    """The container of the document, with a configuration of one's own."""

    def test_it_serves_and_stops(self):
        with tempfile.TemporaryDirectory() as folder:
            etc = pathlib.Path(folder) / "etc"
            etc.mkdir()
            subprocess.run(
                ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                 etc / "key.p8"], check=True, stderr=subprocess.DEVNULL)
            head = re.search(r"```yaml\n(listen: .*?)```", DOCUMENT.read_text(), re.S).group(1)
            (etc / "islet.yaml").write_text(head + """
apps:
  - bundleID: com.acme.pizza
    apns:
      production: {keyFile: key.p8, keyID: HIJ456KLMN, teamID: XYZ987MNOP}
    activities:
      - {type: Order, attributesType: OrderAttributes, policy: {start: appOnly}}
""")
            port = free_port()
            script = block("docker run --detach").replace(":8080:8080", f":{port}:8080")
            start, after = script.split("docker exec", 1)
            functions = 'docker() { podman "$@"; }; sudo() { "$@"; }; '
            stack = Stack("", "", {})
            self.addCleanup(stack.podman, "volume", "rm", "--force", "islet-data", check=False)
            self.addCleanup(stack.podman, "rm", "--force", "--time", "0", "islet", check=False)
            run = ["sh", "-euc"]
            subprocess.run([*run, functions + start], cwd=folder, check=True, timeout=120, stdout=subprocess.DEVNULL)
            until("it is ready", lambda: call("GET", f"http://127.0.0.1:{port}/readyz")[0] == 200)
            said = subprocess.run(
                [*run, functions + "docker exec" + after], cwd=folder, check=True, timeout=120, capture_output=True,
                text=True).stdout
            self.assertRegex(said, r"^islet_\S+\nhttp://127\.0\.0\.1:8080 is ready\n$")
            stack.podman("stop", "islet")
            self.assertEqual(json.loads(stack.podman("inspect", "islet").stdout)[0]["State"]["ExitCode"], 0)


if __name__ == "__main__":
    unittest.main()
