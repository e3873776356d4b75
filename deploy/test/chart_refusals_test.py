#!/usr/bin/env python3
"""Values that cannot work: the chart refuses each, in words that say what to do. script/test-deploy runs it."""

import unittest

import chart
from chart import POSTGRESQL, SQLITE, Refused, merged

WITHOUT_APPS = merged(SQLITE, {"config": {"apps": []}})
DATABASE = "storage.postgresql"


def postgresql(**settings):
    return merged(POSTGRESQL, {"storage": {"postgresql": settings}})


# Values, and words of the refusal.
REFUSED = [
    ({}, "image.repository is missing: no image of Islet is published"),
    ({}, "config.apps is missing: name at least one app"),
    (WITHOUT_APPS, "config.apps is missing: name at least one app"),
    (merged(SQLITE, {"replicas": 2}), "replicas is 2, and a SQLite database has one server: set replicas to 1, or"),
    (merged(SQLITE, {"autoscaling": {"enabled": True}}), "autoscaling cannot work: one server decides and pushes"),
    (merged(POSTGRESQL, {"autoscaling": {"enabled": True}}), "autoscaling cannot work: one server decides and pushes"),
    (merged(POSTGRESQL, {"storage": {"kind": "sqlite"}}),
     "storage.kind is sqlite, but storage.postgresql.url is set: choose one database"),
    (merged(SQLITE, {"storage": {"postgresql": {"urlSecret": {"name": "a"}}}}),
     "storage.kind is sqlite, but storage.postgresql.urlSecret is set: choose one database"),
    (merged(POSTGRESQL, {"storage": {"sqlite": {"existingClaim": "old"}}}),
     "storage.kind is postgresql, but storage.sqlite.existingClaim is set: choose one database"),
    (postgresql(url=""), "the database is missing: give storage.postgresql.url, or urlSecret"),
    (postgresql(urlSecret={"name": "a"}), "storage.postgresql.url and urlSecret are both set: give one"),
    (postgresql(url="mysql://db"), "storage.postgresql.url is postgres://user@host/database"),
    (postgresql(url="postgres://islet:geheim@db/islet"), "storage.postgresql.url contains a password: put it into"),
    (postgresql(url="postgres://db/islet?user=a&password=b"), "storage.postgresql.url contains a password: put it"),
    (merged(POSTGRESQL, {"tokenKeys": {"existingSecret": ""}}),
     "tokenKeys.existingSecret is missing: with PostgreSQL the ring of token keys is yours"),
    (merged(POSTGRESQL, {"tls": {"existingSecret": "a"}}), "tls.existingSecret with 3 replicas: nodes would call each"),
    (merged(SQLITE, {"files": []}), "config names files, but files is empty: name the Secrets and ConfigMaps"),
    (merged(SQLITE, {"config": {"apps": [{"apns": {"sandbox": {"key": "-----BEGIN PRIVATE KEY-----"}}}]}}),
     "config contains a key or a secret, and everybody who reads the ConfigMap"),
    (merged(SQLITE, {"config": {"apps": [{"webhooks": [{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]}]}}),
     "config contains a key or a secret, and everybody who reads the ConfigMap"),
    *[(merged(SQLITE, {"config": {key: {"a": "b"}}}), f"config.{key} is set by the chart: remove it, and use {use}")
      for key, use in {"listen": "service and ingress", "storage": "storage", "tokenKeys": "tokenKeys",
                       "tls": "tls.existingSecret", "nodes": "storage.kind"}.items()],
    (merged(SQLITE, {"config": {"metrics": {"listen": "127.0.0.1:1"}}}), "config.metrics.listen is set by the chart"),
    *[(merged(SQLITE, {"extraEnv": [{"name": name, "value": "x"}]}), f"extraEnv sets {name}, which the chart decides")
      for name in ("ISLET_LISTEN", "ISLET_STORAGE", "ISLET_NODES_ADDRESS", "ISLET_METRICS_LISTEN")],
    (merged(SQLITE, {"ingress": {"enabled": True}}), "ingress.host is missing: the console needs a host name"),
    (merged(SQLITE, chart.MONITORED, {"config": {"metrics": False}}), "config.metrics turns the metrics off"),
    (merged(SQLITE, chart.MONITORED, {"config": {"metrics": {"needsKey": True}}}), "asks Prometheus for an API key"),
    (merged(SQLITE, {"terminationGracePeriodSeconds": 30}), "terminationGracePeriodSeconds is below 40"),
    # What the schema refuses.
    (merged(SQLITE, {"replica": 1}), "'replica' was unexpected"),
    (merged(SQLITE, {"replicas": "two"}), "replicas: 'two' is not of type 'integer', 'null'"),
    (merged(SQLITE, {"replicas": -1}), "replicas: -1 is less than the minimum"),
    (merged(SQLITE, {"storage": {"kind": "mysql"}}), "storage.kind: 'mysql' is not one of ['sqlite', 'postgresql']"),
    (merged(SQLITE, {"storage": {"sqlite": {"size": "large"}}}), "storage.sqlite.size: 'large' does not match"),
    (merged(SQLITE, {"image": {"repository": "a b"}}), "image.repository: 'a b' does not match"),
    (merged(SQLITE, {"image": {"digest": "latest"}}), "image.digest: 'latest' does not match"),
    (merged(SQLITE, {"files": ["islet-apns-keys"]}), "files.0: 'islet-apns-keys' is not valid under any"),
    (merged(SQLITE, {"files": [{"secret": "a", "configMap": "b"}]}), "files.0: "),
    (merged(SQLITE, {"files": [{"secret": ""}]}), "files.0: "),
    (merged(SQLITE, {"config": {"apps": {}}}), "config.apps: {} is not of type 'array'"),
    (merged(SQLITE, {"config": None}), "'config' is a required property"),
    (merged(SQLITE, {"log": {"level": "loud"}}), "log.level: 'loud' is not one of"),
    (merged(SQLITE, {"ingress": {"host": "https://islet.acme.com"}}), "ingress.host: 'https://islet.acme.com' does"),
    (merged(SQLITE, {"service": {"port": 70000}}), "service.port: 70000 is greater than the maximum"),
]


class Refusals(unittest.TestCase):
    """Each is refused."""

    def test_each(self):
        for values, words in REFUSED:
            with self.subTest(words):
                with self.assertRaises(Refused) as refusal:
                    chart.render_text(values)
                self.assertIn(words, str(refusal.exception))

    def test_all_problems_at_once(self):
        values = merged(WITHOUT_APPS, {"replicas": 3, "config": {"listen": "1.2.3.4:5"}})
        with self.assertRaises(Refused) as refusal:
            chart.render_text(values)
        text = str(refusal.exception)
        self.assertIn("these values cannot work:\n  - ", text)
        self.assertEqual(text.count("\n  - "), 3, text)

    def test_what_works_is_not_refused(self):
        for url in ("postgres://islet@db:5432/islet", "postgresql:///islet?host=db-1,db-2&user=islet"):
            chart.render_text(postgresql(url=url))
        chart.render_text(merged(SQLITE, {"extraEnv": [{"name": "ISLET_LIMITS_CONNECTIONS", "value": "20000"}]}))


if __name__ == "__main__":
    unittest.main()
