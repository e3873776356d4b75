"""The chart in tests: its values, and what it renders."""

import copy
import json
import os
import pathlib
import subprocess
import tempfile

import jsonschema
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
CHART = TOP / "deploy/helm/islet"
RENDER = os.environ.get("RENDER", "render")
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
RELEASE = "acme"
NAME = "acme-islet"

CONFIG = {
    "apps": [
        {
            "bundleID": "com.acme.pizza",
            "apns": {"production": {"keyFile": "AuthKey_HIJ456KLMN.p8", "keyID": "HIJ456KLMN", "teamID": "XYZ987MNOP"}},
            "activities": [
                {
                    "type": "OrderTracking",
                    "attributesType": "OrderTrackingAttributes",
                    "policy": {"startAlert": {"title": "Your order", "body": "Follow it here"}},
                }
            ],
        }
    ]
}
SQLITE = {
    "image": {"repository": "registry.example.com/islet"},
    "files": [{"secret": "islet-apns-keys"}],
    "config": CONFIG,
}
DATABASE = {
    "storage": {
        "kind": "postgresql",
        "postgresql": {"url": "postgres://islet@db/islet", "passwordSecret": {"name": "islet-database"}},
    },
    "tokenKeys": {"existingSecret": "islet-token-keys"},
}


def merged(*parts):
    """Tables put over each other. A list replaces a list."""
    result = {}
    for part in parts:
        for key, value in part.items():
            below = result.get(key)
            both = isinstance(below, dict) and isinstance(value, dict)
            result[key] = merged(below, value) if both else copy.deepcopy(value)
    return result


POSTGRESQL = merged(SQLITE, DATABASE)
MONITORED = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
PUBLIC = {
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "islet.acme.com",
        "tlsSecret": "islet-acme-com",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
    }
}
EVERYTHING = {
    "image": {"digest": "sha256:" + "0" * 64, "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "extraEnv": [{"name": "ISLET_CONSOLE", "value": "false"}],
    "extraEnvFrom": [{"secretRef": {"name": "islet-webhooks"}}],
    "service": {"type": "LoadBalancer", "annotations": {"example.com/internal": "true"}},
    "networkPolicy": {
        "apiFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "extraEgress": [{"ports": [{"port": 3128}], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    },
    "serviceAccount": {"annotations": {"example.com/role": "islet"}},
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"example.com/c": "d"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "push", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        }
    },
    "topologySpreadConstraints": [
        {"topologyKey": "rack", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "priorityClassName": "important",
    "extraVolumes": [{"name": "backups", "persistentVolumeClaim": {"claimName": "islet-backups"}}],
    "extraVolumeMounts": [{"name": "backups", "mountPath": "/backups"}],
}
CASES = {
    "sqlite": SQLITE,
    "sqlite with everything": merged(
        SQLITE, MONITORED, PUBLIC, EVERYTHING, {"storage": {"sqlite": {"existingClaim": "old-data"}}}
    ),
    "sqlite with TLS and a ring": merged(
        SQLITE,
        MONITORED,
        {
            "tls": {"existingSecret": "islet-tls"},
            "tokenKeys": {"existingSecret": "islet-token-keys", "key": "ring"},
            "storage": {"sqlite": {"size": "1Ti", "storageClassName": "fast"}},
            "files": [{"secret": "islet-apns-keys"}, {"configMap": "islet-contracts"}],
        },
    ),
    "sqlite without extras": merged(
        SQLITE,
        {
            "serviceAccount": {"create": False},
            "networkPolicy": {"enabled": False},
            "config": {"metrics": False},
            "fullnameOverride": NAME,
            "replicas": 0,
        },
    ),
    "postgresql": POSTGRESQL,
    "postgresql with everything": merged(POSTGRESQL, MONITORED, PUBLIC, EVERYTHING, {"replicas": 5}),
    "postgresql by a URL in a Secret": merged(
        POSTGRESQL,
        {"storage": {"postgresql": {
            "url": "", "urlSecret": {"name": "islet-database"}, "passwordSecret": {"name": ""}}}},
    ),
    "postgresql with TLS": merged(POSTGRESQL, {"tls": {"existingSecret": "islet-tls"}, "replicas": 1}),
    "postgresql without a budget": merged(POSTGRESQL, {"podDisruptionBudget": {"enabled": False}}),
}


class Refused(Exception):
    """The values were refused."""


def run_render(*arguments, values=(), chart=CHART):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, table in enumerate(values):
            file = pathlib.Path(folder) / f"{number}.yaml"
            file.write_text(yaml.safe_dump(table))
            files += ["--values", str(file)]
        done = subprocess.run(
            [RENDER, "--chart", str(chart), "--release", RELEASE, "--namespace", "push", *files, *arguments],
            capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    return done.stdout


def render_text(values, *arguments):
    """What `helm template` prints: the values are checked by their schema first, as helm does."""
    given = json.loads(run_render("--merged", values=[values]))
    faults = jsonschema.Draft7Validator(SCHEMA).iter_errors(given)
    texts = [f"{'.'.join(str(step) for step in fault.absolute_path)}: {fault.message}" for fault in faults]
    if texts:
        raise Refused("values don't meet the specifications of the schema(s): " + "; ".join(sorted(texts)))
    return run_render(*arguments, values=[values])


def render(values):
    """The rendered objects, by their kind and name."""
    objects = {}
    for document in yaml.safe_load_all(render_text(values)):
        key = (document["kind"], document["metadata"]["name"])
        assert key not in objects, f"{key} is rendered twice"
        objects[key] = document
    return objects


def workload(objects):
    found = [document for (kind, _), document in objects.items() if kind in ("StatefulSet", "Deployment")]
    assert len(found) == 1, "there is one workload"
    return found[0]


def pod(objects):
    return workload(objects)["spec"]["template"]


def container(objects):
    containers = pod(objects)["spec"]["containers"]
    assert len(containers) == 1, "there is one container"
    return containers[0]


def configuration(objects):
    """The text of the rendered islet.yaml."""
    return objects["ConfigMap", NAME]["data"]["islet.yaml"]
