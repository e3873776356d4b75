#!/usr/bin/env python3
"""Gives what the chart renders to the server: `islet config check`, and a server that answers the probes.

ISLET names the executable. script/test-deploy runs it.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import yaml

import chart
from chart import CASES, container, pod, render

ISLET = os.environ.get("ISLET")
ADDRESS = "10.1.2.3"
# What the Secrets of the tests hold.
SECRETS = {"url": "postgres://islet:geheim@db.example.com/islet", "password": "geheim"}


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Machine:
    """A folder with the files of a pod, and its command and variables."""

    def __init__(self, folder, objects):
        self.folder = pathlib.Path(folder)
        self.objects = objects
        (self.folder / "etc").mkdir()
        (self.folder / "data").mkdir()
        self.lay_files()
        self.variables = self.environment()
        self.arguments = [self.here(word) for word in container(objects)["args"]]

    def here(self, text):
        return text.replace("/etc/islet", f"{self.folder}/etc").replace("/var/lib/islet", f"{self.folder}/data")

    def write(self, name, text):
        file = self.folder / "etc" / name
        file.write_text(text)
        mode = next(volume for volume in pod(self.objects)["spec"]["volumes"] if "projected" in volume)
        file.chmod(mode["projected"]["defaultMode"])

    def lay_files(self):
        self.write("islet.yaml", self.here(chart.configuration(self.objects)))
        key = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        self.write("AuthKey_HIJ456KLMN.p8", subprocess.check_output(key, text=True, stderr=subprocess.DEVNULL))
        config = yaml.safe_load(chart.configuration(self.objects))
        if "tokenKeys" in config:
            ring = subprocess.check_output([ISLET, "keys", "new-ring"], text=True, timeout=60)
            self.write(config["tokenKeys"]["file"], ring)
        if "tls" in config:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=islet.acme.com", "-days",
                 "30", "-keyout", self.folder / "etc/tls.key", "-out", self.folder / "etc/tls.crt"],
                check=True, stderr=subprocess.DEVNULL)

    def environment(self):
        """The variables as the kubelet sets them: `$(NAME)` is the value of an earlier one."""
        values = {}
        for entry in container(self.objects)["env"]:
            source = entry.get("valueFrom", {})
            if "fieldRef" in source:
                values[entry["name"]] = ADDRESS
            elif "secretKeyRef" in source:
                values[entry["name"]] = SECRETS[source["secretKeyRef"]["key"]]
            else:
                text = re.sub(r"\$\((\w+)\)", lambda found: values[found.group(1)], entry["value"])
                values[entry["name"]] = self.here(text)
        return {"PATH": os.environ["PATH"], **values}

    def check(self):
        return subprocess.run(
            [ISLET, "config", "check", *self.arguments[1:]], env=self.variables, capture_output=True, text=True,
            timeout=60, check=False)


@unittest.skipUnless(ISLET, "ISLET names no executable")
class Server(unittest.TestCase):
    """The server takes what the chart renders."""

    def test_config_check_is_content(self):
        for name, values in CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                machine = Machine(folder, render(values))
                checked = machine.check()
                said = checked.stdout + checked.stderr
                self.assertEqual(checked.returncode, 0, said)
                config = yaml.safe_load(chart.configuration(machine.objects))
                scheme = "https" if "tls" in config else "http"
                self.assertIn(f"listens on   {scheme}://0.0.0.0:8080", said)
                self.assertEqual(f"one node at  http://{ADDRESS}:8090" in said, "nodes" in config, said)
                self.assertIn("(PostgreSQL)" if machine.arguments and "nodes" in config else "stores in ", said)
                self.assertNotIn("geheim", said)

    def test_an_error_would_be_found(self):
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder, render(CASES["sqlite"]))
            (machine.folder / "etc/AuthKey_HIJ456KLMN.p8").unlink()
            checked = machine.check()
            self.assertEqual(checked.returncode, 1, checked.stdout)

    def test_it_answers_the_probes(self):
        with tempfile.TemporaryDirectory() as folder:
            objects = render(CASES["sqlite"])
            machine = Machine(folder, objects)
            ports = {"http": free_port(), "metrics": free_port()}
            machine.variables["ISLET_LISTEN"] = f"127.0.0.1:{ports['http']}"
            machine.variables["ISLET_METRICS_LISTEN"] = f"127.0.0.1:{ports['metrics']}"
            server = subprocess.Popen(
                [ISLET, *machine.arguments], env=machine.variables, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            try:
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    get = container(objects)[probe]["httpGet"]
                    url = f"{get['scheme'].lower()}://127.0.0.1:{ports[get['port']]}{get['path']}"
                    self.assertEqual(self.status(url, server), 200, probe)
                server.send_signal(signal.SIGTERM)
                self.assertEqual(server.wait(timeout=40), 0)
            finally:
                if server.poll() is None:
                    server.kill()
                    server.wait()
            self.assertTrue((machine.folder / "data/islet.db").exists())
            self.assertEqual((machine.folder / "data/islet.db.keys").stat().st_mode & 0o777, 0o600)

    def test_a_read_only_volume_is_an_error_with_words(self):
        if os.geteuid() == 0 and not shutil.which("setpriv"):
            self.skipTest("root writes everywhere, and there is no setpriv")
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder, render(CASES["sqlite"]))
            pathlib.Path(folder).chmod(0o755)
            for file in (machine.folder / "etc").iterdir():
                file.chmod(0o444)
            as_user = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"] if os.geteuid() == 0 else []
            (machine.folder / "data").chmod(0o555)
            ran = subprocess.run(
                [*as_user, ISLET, *machine.arguments], env=machine.variables, capture_output=True, text=True,
                timeout=60, check=False)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn("islet.db", ran.stderr.splitlines()[-1])

    @staticmethod
    def status(url, server):
        end = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
            except OSError:
                if server.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
