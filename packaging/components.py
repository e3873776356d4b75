#!/usr/bin/env python3
"""Describes the parts of a package of Islet:

    swift package --traits PostgreSQL show-dependencies --format json >dependencies.json
    packaging/components.py sbom --dependencies dependencies.json --executable islet --version 0.1.0 \\
        --created 1767225600 --swift 6.2 --debian libpq5=15.14-0+deb12u1 >islet-0.1.0.cdx.json
    packaging/components.py notices --dependencies dependencies.json >third-party-notices

`sbom` is a bill of materials in CycloneDX 1.5: names, versions and licenses. `notices` are the license texts of the
Swift packages that the executable contains.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import sys
import uuid

# The first line of a license that says which one it is.
LICENSES = {"Apache License": "Apache-2.0", "Permission is hereby granted, free of charge": "MIT"}


def packages(dependencies):
    """The Swift packages of a tree, each once, by name."""
    found, open_nodes = {}, list(json.loads(dependencies.read_text())["dependencies"])
    while open_nodes:
        node = open_nodes.pop()
        found[node["identity"]] = node
        open_nodes += node["dependencies"]
    return [found[name] for name in sorted(found)]


def texts(package):
    """Licenses and notices of a package and of the foreign sources in it."""
    root = pathlib.Path(package["path"])
    places = [root, *sorted(root.glob("Sources/*"))]
    names = ("LICENSE*", "NOTICE*", "COPYING*")
    files = [file for place in places for name in names for file in sorted(place.glob(name)) if file.is_file()]
    if not any(file.name.startswith(("LICENSE", "COPYING")) for file in files):
        sys.exit(f"components: {package['name']} has no license in {root}")
    return {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files}


def license_of(package):
    text = next(text for name, text in texts(package).items() if not name.startswith("NOTICE"))
    known = [name for words, name in LICENSES.items() if words in text]
    if not known:
        sys.exit(f"components: the license of {package['name']} is not known; add it to LICENSES")
    return known[0]


def swift_component(package):
    place = package["url"].removeprefix("https://").removesuffix(".git")
    name = f"pkg:swift/{place}@{package['version']}"
    return {
        "type": "library", "bom-ref": name, "name": package["name"], "version": package["version"], "purl": name,
        "licenses": [{"license": {"id": license_of(package)}}]}


def debian_component(text, architecture):
    name, version = text.split("=", 1)
    address = f"pkg:deb/debian/{name}@{version.replace(':', '%3A')}?arch={architecture}&distro=debian-12"
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


def bill(given):
    digest = hashlib.sha256(given.executable.read_bytes()).hexdigest()
    main = f"pkg:generic/islet@{given.version}"
    runtime = {
        "type": "framework", "bom-ref": f"pkg:generic/swift-runtime@{given.swift}", "name": "swift-runtime",
        "version": given.swift, "purl": f"pkg:generic/swift-runtime@{given.swift}",
        "licenses": [{"expression": "Apache-2.0 WITH Swift-exception"}]}
    components = [
        runtime, *map(swift_component, packages(given.dependencies)),
        *(debian_component(each, given.architecture) for each in sorted(given.debian))]
    # The tree of Swift packages; the executable needs all of Debian's.
    address = {each["name"].lower(): each["bom-ref"] for each in components}
    tree = {main: sorted(each["bom-ref"] for each in components)}
    for package in packages(given.dependencies):
        below = {address[each["name"].lower()] for each in package["dependencies"]}
        tree[address[package["name"].lower()]] = sorted(below)
    date = datetime.datetime.fromtimestamp(given.created, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{main}#{digest}')}",
        "metadata": {
            "timestamp": date,
            "component": {
                "type": "application", "bom-ref": main, "name": "islet", "version": given.version, "purl": main,
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": name, "dependsOn": below} for name, below in tree.items()]}


def notices(given):
    print("The executable islet contains these packages, and the runtime of Swift (https://www.swift.org), which is")
    print("under the Apache License 2.0 with a runtime library exception.")
    sources = {}
    for package in packages(given.dependencies):
        for name, text in texts(package).items():
            sources.setdefault(text.strip(), []).append(f"{package['name']} {package['version']}: {name}")
    for text, names in sources.items():
        print(f"\n{'=' * 80}", *names, f"{'=' * 80}\n\n{text}", sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    subcommands = parser.add_subparsers(dest="what", required=True)
    for name in ("sbom", "notices"):
        command = subcommands.add_parser(name)
        command.add_argument("--dependencies", type=pathlib.Path, required=True)
        if name == "sbom":
            command.add_argument("--executable", type=pathlib.Path, required=True)
            command.add_argument("--version", required=True)
            command.add_argument("--created", type=int, required=True)
            command.add_argument("--swift", required=True)
            command.add_argument("--architecture", required=True)
            command.add_argument("--debian", nargs="*", default=[], metavar="NAME=VERSION")
    given = parser.parse_args()
    if given.what == "notices":
        notices(given)
    else:
        print(json.dumps(bill(given), indent=1))


if __name__ == "__main__":
    main()
