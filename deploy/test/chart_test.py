#!/usr/bin/env python3
"""Renders the chart, and checks what it renders and what it refuses. script/test-deploy runs it.

RENDER names the renderer (deploy/test/render).
"""

import functools
import json
import re
import unittest

import jsonschema
import kubernetes_validate
import yaml

import chart
from chart import CASES, NAME, POSTGRESQL, SQLITE, container, merged, pod, render, workload

# What the ServiceMonitor of the chart may contain, from the reference of the operator of Prometheus.
SERVICE_MONITOR = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "monitoring.coreos.com/v1"},
        "kind": {"const": "ServiceMonitor"},
        "metadata": {"type": "object", "required": ["name", "labels"]},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["selector", "endpoints"],
            "properties": {
                "selector": {
                    "type": "object", "additionalProperties": False, "required": ["matchLabels"],
                    "properties": {"matchLabels": {"type": "object", "minProperties": 1}},
                },
                "endpoints": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["port", "path", "interval"],
                        "properties": {
                            "port": {"type": "string"}, "path": {"type": "string"},
                            "interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m)$"},
                            "scheme": {"enum": ["http", "https"]},
                            "tlsConfig": {
                                "type": "object", "additionalProperties": False,
                                "properties": {"insecureSkipVerify": {"type": "boolean"}},
                            },
                        },
                    },
                },
            },
        },
    },
}

# The oldest version that Chart.yaml allows, and the newest that has schemas here.
VERSIONS = ["1.30", ".".join(kubernetes_validate.latest_version().split(".")[:2])]


def each_case(test):
    """Runs a test with the objects of each case."""

    @functools.wraps(test)
    def run(self):
        for name, objects in self.rendered.items():
            with self.subTest(name):
                test(self, name, objects)

    return run


class Manifests(unittest.TestCase):
    """What holds for all values."""

    @classmethod
    def setUpClass(cls):
        cls.rendered = {name: render(values) for name, values in CASES.items()}

    @each_case
    def test_kubernetes_accepts_every_field(self, _, objects):
        self.assertNotEqual(*VERSIONS)
        for (kind, _), document in objects.items():
            if kind == "ServiceMonitor":
                jsonschema.validate(document, SERVICE_MONITOR)
                continue
            for version in VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)

    def test_a_wrong_field_would_be_found(self):
        document = json.loads(json.dumps(self.rendered["sqlite"]["StatefulSet", NAME]))
        document["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(document, VERSIONS[0], strict=True)

    @each_case
    def test_the_pod_has_no_rights(self, name, objects):
        spec = pod(objects)["spec"]
        self.assertFalse(spec["automountServiceAccountToken"])
        self.assertFalse(spec["enableServiceLinks"])
        security = spec["securityContext"]
        self.assertTrue(security["runAsNonRoot"])
        self.assertEqual({security[key] for key in ("runAsUser", "runAsGroup", "fsGroup")}, {65532})
        self.assertEqual(security["fsGroupChangePolicy"], "OnRootMismatch")
        self.assertEqual(security["seccompProfile"], {"type": "RuntimeDefault"})
        security = container(objects)["securityContext"]
        self.assertEqual(
            security,
            {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
        for (kind, _), document in objects.items():
            if kind == "ServiceAccount":
                self.assertFalse(document["automountServiceAccountToken"])
        if name == "sqlite without extras":
            self.assertEqual(spec["serviceAccountName"], "default")
            self.assertNotIn(("ServiceAccount", NAME), objects)
        else:
            self.assertIn(("ServiceAccount", spec["serviceAccountName"]), objects)

    @each_case
    def test_nothing_secret_is_rendered(self, _, objects):
        self.assertNotIn("Secret", {kind for kind, _ in objects})

    @each_case
    def test_ports_lead_from_callers_to_listen(self, name, objects):
        config = yaml.safe_load(chart.configuration(objects))
        listens = {"http": config["listen"], "metrics": config["metrics"]["listen"]}
        if "nodes" in config:
            listens["nodes"] = config["nodes"]["listen"]
        ports = {port["name"]: port["containerPort"] for port in container(objects)["ports"]}
        self.assertEqual({key: f"0.0.0.0:{port}" for key, port in ports.items()}, listens)
        self.assertEqual(objects["Service", NAME]["spec"]["ports"][0]["targetPort"], "http")
        scrape = objects["Service", f"{NAME}-metrics"]["spec"]["ports"][0]
        self.assertEqual((scrape["port"], scrape["targetPort"]), (ports["metrics"], "metrics"))
        ingress = objects.get(("Ingress", NAME))
        if ingress:
            backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
            self.assertEqual(backend, {"name": NAME, "port": {"name": "http"}})
        if name == "sqlite without extras":
            self.assertEqual(config["metrics"], {"served": False, "listen": listens["metrics"]})

    @each_case
    def test_probes_ask_the_port_of_the_metrics(self, _, objects):
        spec = container(objects)
        scheme = "HTTPS" if "tls" in yaml.safe_load(chart.configuration(objects)) else "HTTP"
        paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
        for probe, path in paths.items():
            self.assertEqual(spec[probe]["httpGet"], {"path": path, "port": "metrics", "scheme": scheme})
        startup = spec["startupProbe"]
        self.assertEqual(startup["periodSeconds"] * startup["failureThreshold"], 600)

    @each_case
    def test_the_server_has_time_to_stop(self, _, objects):
        spec = pod(objects)["spec"]
        wait = container(objects)["lifecycle"]["preStop"]["sleep"]["seconds"]
        # Cutting off after 25 s, and 8 s for late answers of APNs (docs/scaling.md).
        self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], wait + 25 + 8)

    @each_case
    def test_selectors_choose_the_pods(self, _, objects):
        labels = pod(objects)["metadata"]["labels"]
        selectors = [workload(objects)["spec"]["selector"]["matchLabels"]]
        for (kind, _), document in objects.items():
            if kind == "Service":
                selectors.append(document["spec"]["selector"])
            elif kind == "NetworkPolicy":
                selectors.append(document["spec"]["podSelector"]["matchLabels"])
            elif kind == "PodDisruptionBudget":
                selectors.append(document["spec"]["selector"]["matchLabels"])
            elif kind == "ServiceMonitor":
                chosen = document["spec"]["selector"]["matchLabels"].items()
                services = [
                    name for (kind, name), other in objects.items()
                    if kind == "Service" and chosen <= other["metadata"]["labels"].items()]
                self.assertEqual(services, [f"{NAME}-metrics"])
        for selector in selectors:
            self.assertLessEqual(selector.items(), labels.items())

    @each_case
    def test_files_lie_where_the_configuration_expects_them(self, name, objects):
        spec = pod(objects)["spec"]
        mounts = {mount["mountPath"]: mount["name"] for mount in container(objects)["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        projected = volumes[mounts["/etc/islet"]]["projected"]
        # For the group, which is fsGroup: the server refuses a ring that others may read.
        self.assertEqual(projected["defaultMode"], 0o440)
        self.assertEqual(projected["sources"][0], {"configMap": {"name": NAME}})
        self.assertIn({"secret": {"name": "islet-apns-keys"}}, projected["sources"])
        config = yaml.safe_load(chart.configuration(objects))
        files = {
            item["path"] for source in projected["sources"] for item in source.get("secret", {}).get("items", [])}
        expected = set()
        if "tls" in config:
            expected |= {config["tls"]["certificate"], config["tls"]["key"]}
        if "tokenKeys" in config:
            expected.add(config["tokenKeys"]["file"])
        self.assertEqual(files, expected, name)
        self.assertEqual("/var/lib/islet" in mounts, workload(objects)["kind"] == "StatefulSet")

    def test_notes_name_what_there_is(self):
        for name, values in CASES.items():
            with self.subTest(name):
                notes = chart.render_text(values, "--notes")
                kind = workload(self.rendered[name])["kind"].lower()
                self.assertIn(f"exec {kind}/{NAME} -- islet keys create --config /etc/islet/islet.yaml", notes)
                self.assertIn("--app com.acme.pizza", notes)
                self.assertNotIn("<no value>", notes)
                where = "https://islet.acme.com/" if "ingress" in values else f"port-forward service/{NAME} 8080:80"
                self.assertIn(where, notes)


class SQLite(unittest.TestCase):
    """One server on a volume."""

    def test_one_replica_on_one_volume(self):
        objects = render(SQLITE)
        spec = workload(objects)["spec"]
        self.assertEqual((workload(objects)["kind"], spec["replicas"]), ("StatefulSet", 1))
        claim = spec["volumeClaimTemplates"][0]
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOnce"])
        self.assertEqual(claim["spec"]["resources"]["requests"]["storage"], "10Gi")
        self.assertNotIn("storageClassName", claim["spec"])
        mounts = {mount["mountPath"]: mount["name"] for mount in container(objects)["volumeMounts"]}
        self.assertEqual(mounts["/var/lib/islet"], claim["metadata"]["name"])
        storage = yaml.safe_load(chart.configuration(objects))["storage"]
        self.assertEqual(storage, "sqlite:/var/lib/islet/islet.db")
        self.assertNotIn(("PodDisruptionBudget", NAME), objects)

    def test_a_claim_that_exists_is_used(self):
        objects = render(CASES["sqlite with everything"])
        self.assertNotIn("volumeClaimTemplates", workload(objects)["spec"])
        self.assertIn(
            {"name": "data", "persistentVolumeClaim": {"claimName": "old-data"}}, pod(objects)["spec"]["volumes"])

    def test_a_change_of_the_configuration_restarts_the_pod_and_nothing_else_does(self):
        def checksum(values):
            return pod(render(values))["metadata"]["annotations"]["checksum/config"]

        changed = merged(SQLITE, {"config": {"keep": {"eventDays": 3}}})
        self.assertNotEqual(checksum(SQLITE), checksum(changed))
        self.assertEqual(checksum(SQLITE), checksum(merged(SQLITE, {"service": {"port": 8080}})))


class PostgreSQL(unittest.TestCase):
    """Nodes on one database."""

    def test_nodes_replace_each_other_one_by_one(self):
        objects = render(POSTGRESQL)
        spec = workload(objects)["spec"]
        self.assertEqual((workload(objects)["kind"], spec["replicas"]), ("Deployment", 3))
        self.assertEqual(
            spec["strategy"], {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
        self.assertEqual(objects["PodDisruptionBudget", NAME]["spec"]["maxUnavailable"], 1)
        keys = [constraint["topologyKey"] for constraint in pod(objects)["spec"]["topologySpreadConstraints"]]
        self.assertEqual(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])

    def test_each_node_names_its_own_address(self):
        variables = {entry["name"]: entry for entry in container(render(POSTGRESQL))["env"]}
        self.assertEqual(variables["POD_IP"]["valueFrom"], {"fieldRef": {"fieldPath": "status.podIP"}})
        self.assertEqual(variables["ISLET_NODES_ADDRESS"]["value"], "http://$(POD_IP):8090")
        self.assertLess(list(variables).index("POD_IP"), list(variables).index("ISLET_NODES_ADDRESS"))

    def test_passwords_come_from_secrets(self):
        variables = {entry["name"]: entry for entry in container(render(POSTGRESQL))["env"]}
        secret = {"secretKeyRef": {"name": "islet-database", "key": "password"}}
        self.assertEqual(variables["PGPASSWORD"]["valueFrom"], secret)
        objects = render(CASES["postgresql by a URL in a Secret"])
        variables = {entry["name"]: entry for entry in container(objects)["env"]}
        self.assertEqual(variables["ISLET_STORAGE"]["valueFrom"]["secretKeyRef"]["key"], "url")
        self.assertNotIn("storage", yaml.safe_load(chart.configuration(objects)))

    def test_one_server_with_TLS_is_replaced_and_not_joined(self):
        objects = render(CASES["postgresql with TLS"])
        self.assertEqual(workload(objects)["spec"]["strategy"], {"type": "Recreate"})
        self.assertNotIn("nodes", yaml.safe_load(chart.configuration(objects)))
        self.assertNotIn(("PodDisruptionBudget", NAME), objects)


class Network(unittest.TestCase):
    """The policy lets out what docs/operating.md lists, and nothing else."""

    @staticmethod
    def egress(values):
        rules = render(values)["NetworkPolicy", NAME]["spec"]["egress"]
        return [sorted({port["port"] for port in rule["ports"]}) for rule in rules]

    def test_apple_and_names(self):
        self.assertEqual(self.egress(SQLITE), [[53], [443]])

    def test_every_URL_of_the_configuration(self):
        app = merged(chart.CONFIG["apps"][0], {
            "people": {"jwks": {"url": "https://id.acme.com:8443/keys"}},
            "webhooks": [{"name": "a", "url": "http://hooks.internal/x"}, {"name": "b", "url": "https://h.acme.com/"}],
        })
        app["apns"]["sandbox"] = {
            "endpoint": "https://api.push.apple.com:2197", "channelEndpoint": "https://[::1]:2195"}
        provider = {"url": "https://user@[2001:db8::1]:9443/p?a=:1"}
        app["activities"].append({"type": "B", "policy": {"delivery": "auto"}, "provider": provider})
        config = {"apps": [app], "tracing": {"endpoint": "http://otel:4318/v1/traces"}}
        self.assertEqual(
            self.egress(merged(SQLITE, {"config": config})), [[53], [80, 443, 2195, 2196, 2197, 4318, 8443, 9443]])

    def test_the_database_and_the_other_nodes(self):
        self.assertEqual(self.egress(POSTGRESQL), [[53], [443, 5432], [8090]])
        several = "postgres://islet@a.acme.com,b.acme.com:5433,[::1]:5434/islet?sslmode=verify-full"
        values = merged(POSTGRESQL, {"storage": {"postgresql": {"url": several}}})
        self.assertEqual(self.egress(values)[1], [443, 5432, 5433, 5434])
        values = merged(CASES["postgresql by a URL in a Secret"], {"networkPolicy": {"databasePorts": [6432]}})
        self.assertEqual(self.egress(values)[1], [443, 6432])
        own = {"podSelector": {"matchLabels": {
            "app.kubernetes.io/name": "islet", "app.kubernetes.io/instance": chart.RELEASE}}}
        policy = render(POSTGRESQL)["NetworkPolicy", NAME]["spec"]
        self.assertEqual(policy["ingress"][2], {"ports": [{"port": 8090}], "from": [own]})
        self.assertEqual(policy["egress"][2]["to"], [own])

    def test_callers_may_be_limited(self):
        policy = render(CASES["sqlite with everything"])["NetworkPolicy", NAME]["spec"]
        self.assertEqual([list(rule) for rule in policy["ingress"]], [["ports", "from"], ["ports", "from"]])
        self.assertEqual(policy["egress"][-1]["ports"], [{"port": 3128}])
        self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])


class Documents(unittest.TestCase):
    """The table of the chart's README has every value."""

    @staticmethod
    def paths(table, place=""):
        for key, value in table.items():
            path = f"{place}.{key}" if place else key
            if isinstance(value, dict) and value and key not in ("resources", "podSecurityContext", "securityContext"):
                yield from Documents.paths(value, path)
            else:
                yield path

    def test_every_value_is_explained(self):
        defaults = yaml.safe_load((chart.CHART / "values.yaml").read_text())
        readme = (chart.CHART / "README.md").read_text()
        rows = [line for line in readme.splitlines() if line.startswith("| `")]
        named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
        self.assertEqual(sorted(named), sorted(self.paths(defaults)))

    def test_the_schema_knows_every_value(self):
        defaults = yaml.safe_load((chart.CHART / "values.yaml").read_text())
        self.assertEqual(sorted(set(chart.SCHEMA["properties"]) - {"global", "autoscaling"}), sorted(defaults))

    def test_the_version_is_that_of_the_server(self):
        source = (chart.TOP / "Sources/islet/Islet.swift").read_text()
        version = re.search(r'static let version = "([^"]+)"', source).group(1)
        about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertEqual(str(about["appVersion"]), version)


if __name__ == "__main__":
    unittest.main()
