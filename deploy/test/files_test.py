#!/usr/bin/env python3
"""Lints what people start Islet with: compose files, rendered manifests, the formula. script/test-deploy runs it."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

import chart

DEPLOY = chart.TOP / "deploy"
COMPOSE = {name: DEPLOY / "compose" / name for name in ("compose.yaml", "compose.nodes.yaml")}

# `helm` writes lists as deep as their key. The rest is yamllint's default, with the columns of this repository.
LINT = """
extends: default
rules:
  document-start: disable
  line-length: {max: 120}
  comments: {min-spaces-from-content: 1}
  braces: {max-spaces-inside: 0}
  indentation: {spaces: 2, indent-sequences: %s}
"""


def lint(files, sequences="true"):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
        rules.write(LINT % sequences)
        rules.flush()
        done = subprocess.run(
            ["yamllint", "--strict", "--config-file", rules.name, *files], capture_output=True, text=True, timeout=60,
            check=False)
    return done.stdout + done.stderr


class Lint(unittest.TestCase):
    """The files have a good form."""

    def test_yaml(self):
        files = [*COMPOSE.values(), chart.CHART / "values.yaml", chart.CHART / "Chart.yaml"]
        self.assertEqual(lint(files), "")

    def test_rendered_manifests(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, values in enumerate(chart.CASES.values()):
                files.append(pathlib.Path(folder) / f"{number}.yaml")
                files[-1].write_text(chart.render_text(values))
            self.assertEqual(lint(files, "whatever"), "")

    def test_a_bad_form_would_be_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("a: 1\na: 2 \n")
            file.flush()
            said = lint([file.name])
        self.assertIn("trailing spaces", said)
        self.assertIn('duplication of key "a"', said)

    @unittest.skipUnless(shutil.which("ruby"), "there is no ruby in PATH")
    def test_the_formula_is_ruby(self):
        subprocess.run(
            ["ruby", "-wc", DEPLOY / "homebrew/islet.rb"], check=True, timeout=30, stdout=subprocess.DEVNULL)

    @unittest.skipUnless(shutil.which("docker"), "there is no docker in PATH")
    def test_docker_compose_reads_the_files(self):
        if subprocess.run(["docker", "compose", "version"], capture_output=True, timeout=30, check=False).returncode:
            self.skipTest("docker has no compose")
        for file in COMPOSE.values():
            subprocess.run(["docker", "compose", "--file", file, "config", "--quiet"], check=True, timeout=30)


class Compose(unittest.TestCase):
    """What holds for each service."""

    @staticmethod
    def services():
        for name, file in COMPOSE.items():
            for service, given in yaml.safe_load(file.read_text())["services"].items():
                yield name, service, given

    def test_the_image_is_that_of_this_version(self):
        version = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["appVersion"]
        for name, service, given in self.services():
            with self.subTest(f"{name} {service}"):
                expected = "${POSTGRES_IMAGE:-postgres:15}" if service == "postgres" else (
                    "${ISLET_IMAGE:-localhost/islet:%s}" % version)
                self.assertEqual(given["image"], expected)

    def test_containers_have_no_rights(self):
        for name, service, given in self.services():
            with self.subTest(f"{name} {service}"):
                self.assertEqual(given["security_opt"], ["no-new-privileges:true"])
                self.assertEqual(given["stop_grace_period"], "40s")
                self.assertNotIn("user", given)
                if service != "postgres":
                    self.assertTrue(given["read_only"])
                    self.assertEqual(given["cap_drop"], ["ALL"])

    def test_no_other_machine_gets_in(self):
        for name, service, given in self.services():
            with self.subTest(f"{name} {service}"):
                for port in given.get("ports", []):
                    self.assertTrue(port.startswith("127.0.0.1:"), port)
        nodes = yaml.safe_load(COMPOSE["compose.nodes.yaml"].read_text())
        self.assertNotIn("ports", nodes["services"]["postgres"])

    def test_each_node_has_an_address_of_its_own(self):
        nodes = yaml.safe_load(COMPOSE["compose.nodes.yaml"].read_text())["services"]
        for number in (1, 2, 3):
            given = nodes[f"node-{number}"]["environment"]
            self.assertEqual(given["ISLET_NODES_ADDRESS"], f"http://node-{number}:8090")
            self.assertEqual({**given, "ISLET_NODES_ADDRESS": ""},
                             {**nodes["node-1"]["environment"], "ISLET_NODES_ADDRESS": ""})


if __name__ == "__main__":
    unittest.main()
