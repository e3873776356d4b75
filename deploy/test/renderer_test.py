#!/usr/bin/env python3
"""Checks that the renderer of these tests does what helm does. script/test-deploy runs it.

Where helm is in PATH, it has to render the same.
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

import chart
from chart import CASES, Refused, render


class Helm(unittest.TestCase):
    """The renderer of these tests does what helm does."""

    def test_the_semantics_of_helm(self):
        files = {
            "Chart.yaml": "{apiVersion: v2, name: small, version: 1.2.3, appVersion: 4.5.6, kubeVersion: '>=1.28.0-0'}",
            "values.yaml": "{kept: {a: 1, b: 2}, gone: yes, list: [1, 2], large: 1000000}",
            "data.txt": "a file",
            "templates/_parts.tpl": '{{ define "part" }}part of {{ .Release.Name }}{{ end }}',
            "templates/a.yaml": '''{{ toYaml .Values }}
chart: {{ .Chart.Name }}-{{ .Chart.Version }} for {{ .Chart.AppVersion }}
missing: "{{ .Values.nothing }}"
included: {{ include "part" . | upper }}
tpl: {{ tpl "{{ .Values.kept.b }}" . }}
file: {{ .Files.Get "data.txt" }}
looked up: {{ lookup "v1" "Secret" "a" "b" | toJson }}
kubernetes: {{ .Capabilities.KubeVersion.Major }}.{{ .Capabilities.KubeVersion.Minor }}
machine: {{ if .Capabilities.APIVersions.Has "apps/v1" }}yes{{ end }}''',
            "templates/b.yaml": "{{ if .Values.empty }}x: y{{ end }}\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                file = pathlib.Path(folder) / name
                file.parent.mkdir(exist_ok=True)
                file.write_text(text)
            over = [{"kept": {"a": 5}, "gone": None, "list": [3]}, {"kept": {"c": None}}]
            text = chart.run_render(values=over, chart=folder)
            self.assertNotIn("b.yaml", text)
            self.assertEqual(yaml.safe_load(text), {
                "kept": {"a": 5, "b": 2, "c": None}, "list": [3], "large": 1000000, "chart": "small-1.2.3 for 4.5.6",
                "missing": "", "included": "PART OF ACME", "tpl": 2, "file": "a file", "looked up": {},
                "kubernetes": 1.3, "machine": True})
            with self.assertRaisesRegex(Refused, "incompatible with Kubernetes v1.27.0"):
                chart.run_render("--kube-version", "v1.27.0", chart=folder)
            for call, words in {'required "give it" .Values.nothing': "give it", 'fail "no"': "error calling fail: no",
                                'env "HOME"': 'function "env" not defined'}.items():
                (pathlib.Path(folder) / "templates/a.yaml").write_text("{{ %s }}" % call)
                with self.assertRaisesRegex(Refused, words):
                    chart.run_render(chart=folder)

    @unittest.skipUnless(shutil.which("helm"), "there is no helm in PATH")
    def test_helm_itself_renders_the_same(self):
        for name, values in CASES.items():
            with self.subTest(name), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(values, file)
                file.flush()
                given = [str(chart.CHART), "--values", file.name, "--kube-version", "1.30.0"]
                subprocess.run(["helm", "lint", "--strict", *given], check=True, timeout=60, stdout=subprocess.DEVNULL)
                done = subprocess.run(
                    ["helm", "template", chart.RELEASE, "--namespace", "push", *given], check=True, timeout=60,
                    capture_output=True, text=True)
                documents = [document for document in yaml.safe_load_all(done.stdout) if document]
                self.assertEqual(
                    {(document["kind"], document["metadata"]["name"]): document for document in documents},
                    render(values))


if __name__ == "__main__":
    unittest.main()
