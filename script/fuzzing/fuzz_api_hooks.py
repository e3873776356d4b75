"""A check of script/fuzz-api beyond schemathesis's own: a refusal changes no row of the database."""

import hashlib
import os
import sqlite3

import schemathesis

DATABASE = os.environ["ISLET_DATABASE"]
# Tables that only calls write. Delivery writes the others at any time.
TABLES = ("activity", "content", "user", "device", "member", "audience", "idempotency", "api_key", "memo")

_before = {}


# Columns that are written once a minute, whatever is called.
NOTED = {"api_key": {"used_at"}}


def _digests():
    """A digest of each table."""
    connection = sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True, timeout=10)
    try:
        digests = {}
        # Read one consistent state of the database.
        connection.execute("BEGIN")
        for table in TABLES:
            columns = [row[1] for row in connection.execute(f"SELECT * FROM pragma_table_info('{table}')")]
            names = ", ".join(f'"{name}"' for name in columns if name not in NOTED.get(table, ()))
            digest = hashlib.sha256()
            for row in connection.execute(f'SELECT {names} FROM "{table}"'):
                digest.update(repr(row).encode())
            digests[table] = digest.hexdigest()
        return digests
    finally:
        connection.close()


# Ids that the examples create, because a random id finds nothing.
KNOWN = {"activity": "order-12345", "device": "phone-1", "user": "ada", "localID": "7E0C2F1A", "type": "OrderTracking"}


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Returns text as it was generated."""
    return value.encode(errors="replace") if isinstance(value, str) else repr(value).encode()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    for name, known in KNOWN.items():
        value = (path_parameters or {}).get(name)
        # A wrong id stays wrong. Every second good one is a known id.
        if isinstance(value, str) and value.isalnum() and value.isascii() and len(value) % 2:
            path_parameters[name] = known
    return path_parameters


@schemathesis.hook
def before_call(context, case, kwargs):
    _before["digests"] = _digests()


@schemathesis.check
def a_refusal_changes_nothing(ctx, response, case):
    if response.status_code < 400:
        return
    before, after = _before.get("digests"), _digests()
    if before != after:
        changed = ", ".join(table for table in TABLES if (before or {}).get(table) != after[table])
        raise AssertionError(f"{case.method} {case.path}: {response.status_code}, and it has changed: {changed}")
