#!/usr/bin/env python3
"""Writes a container image as an OCI layout (https://github.com/opencontainers/image-spec) and as a tar file of it:

    packaging/image/image.py --base base.tar --files FOLDER --version 0.1.0 --architecture amd64 --created 1767225600 \\
        .build/package/islet-0.1.0-oci

The first layer is what an executable needs of the Debian packages in base.tar: no shell, no package manager, no other
program. It stays the same while these packages do. The second layer is FOLDER, with the user and the folders of the
server. The same input gives the same bytes.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import re
import tarfile

USER = 65532
ACCOUNTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nislet:x:{USER}:{USER}:Islet:/var/lib/islet:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nislet:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# Shared libraries, time zones, licenses, and the records by which scanners know the packages.
NEEDED = re.compile(
    r"(usr/)?lib(64)?/([^/]+-linux-gnu/)?[^/]+\.so[^/]*|(usr/lib|etc)/os-release|usr/share/zoneinfo/.+"
    r"|usr/share/doc/[^/]+/copyright|usr/share/common-licenses/.+|var/lib/dpkg/status\.d/.+")
# Licenses and records of packages of which nothing else is needed.
UNUSED = re.compile(r"(usr/share/doc|var/lib/dpkg/status\.d)/(debconf|mawk|openssl)(/.+)?")
AUTHORITY = re.compile(r"usr/share/ca-certificates/mozilla/.+\.crt")


class Layer:
    """Files for a tar file that depends on nothing else: sorted, of one time, without names of users."""

    def __init__(self, time):
        self.time, self.entries = time, {}

    def add(self, path, data=b"", mode=0o644, user=0, kind=tarfile.REGTYPE, link=""):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.mtime, entry.size, entry.linkname = kind, mode, self.time, len(data), link
        entry.uid = entry.gid = user
        self.entries[path] = (entry, data)
        for parent in map(str, pathlib.PurePath(path).parents):
            if parent != "." and parent not in self.entries:
                self.folder(parent)

    def folder(self, path, mode=0o755, user=0):
        self.add(path, mode=mode, user=user, kind=tarfile.DIRTYPE)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for path in sorted(self.entries):
                entry, data = self.entries[path]
                tar.addfile(entry, io.BytesIO(data))
        return out.getvalue()


def libraries(base):
    """The layer of what is needed from unpacked Debian packages."""
    # One time for all releases, so that registries and machines have the layer once.
    layer, authorities = Layer(0), {}
    with tarfile.open(base) as tar:
        for member in tar:
            path = member.name.removeprefix("./")
            if AUTHORITY.fullmatch(path):
                authorities[path] = tar.extractfile(member).read()
            elif not NEEDED.fullmatch(path) or UNUSED.fullmatch(path) or member.isdir():
                continue
            elif member.issym():
                layer.add(path, mode=0o777, kind=tarfile.SYMTYPE, link=member.linkname)
            else:
                layer.add(path, tar.extractfile(member).read(), mode=member.mode & 0o755)
    # update-ca-certificates would make the same file.
    layer.add("etc/ssl/certs/ca-certificates.crt", b"".join(authorities[path] for path in sorted(authorities)))
    for path, text in ACCOUNTS.items():
        layer.add(path, text.encode())
    layer.folder("tmp", mode=0o1777)
    return layer


def server(files, created):
    """The layer of Islet."""
    layer = Layer(created)
    for file in files.rglob("*"):
        if file.is_file():
            layer.add(str(file.relative_to(files)), file.read_bytes(), mode=file.stat().st_mode & 0o755)
    layer.folder("etc/islet")
    layer.folder("var/lib/islet", mode=0o700, user=USER)
    return layer


class Layout:
    """A folder of blobs, each named by its digest."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "blobs/sha256").mkdir(parents=True)

    def blob(self, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(data)
        return {
            "mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def json(self, kind, value):
        return self.blob(kind, json.dumps(value, indent=1, sort_keys=True).encode())


def configuration(given, date, layers):
    labels = {
        "title": "islet", "version": given.version, "created": date, "licenses": "Apache-2.0",
        "description": "Push server that keeps iOS Live Activities up to date", "vendor": "The Islet authors"}
    return {
        "architecture": given.architecture, "os": "linux", "created": date,
        "config": {
            "User": f"{USER}:{USER}", "Entrypoint": ["/usr/bin/islet"],
            "Cmd": ["serve", "--config", "/etc/islet/islet.yaml"],
            # Commands such as `islet doctor` find islet.yaml here.
            "WorkingDir": "/etc/islet", "Volumes": {"/var/lib/islet": {}}, "ExposedPorts": {"8080/tcp": {}},
            # The root may be read-only, and SQLite sorts large indexes in a file.
            "Env": ["PATH=/usr/bin", "HOME=/var/lib/islet", "SQLITE_TMPDIR=/var/lib/islet"],
            "StopSignal": "SIGTERM",
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in layers]},
        "history": [
            {"created": "1970-01-01T00:00:00Z", "created_by": "libraries of Debian 12"},
            {"created": date, "created_by": f"islet {given.version}"}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", type=pathlib.Path, required=True)
    parser.add_argument("--files", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--created", type=int, required=True)
    parser.add_argument("output", type=pathlib.Path)
    given = parser.parse_args()

    date = datetime.datetime.fromtimestamp(given.created, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = [libraries(given.base).tar(), server(given.files, given.created).tar()]
    layout = Layout(given.output)
    parts = {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.json("config.v1+json", configuration(given, date, layers)),
        "layers": [layout.blob("layer.v1.tar+gzip", gzip.compress(tar, 6, mtime=0)) for tar in layers]}
    manifest = layout.json("manifest.v1+json", parts)
    # The name under which `podman load` and `docker load` keep it.
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"localhost/islet:{given.version}"}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}
    (given.output / "index.json").write_text(json.dumps(index, indent=1, sort_keys=True))
    (given.output / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    # Docker's older image store reads this in place of the index.
    config, *blobs = ["blobs/" + part["digest"].replace(":", "/") for part in [parts["config"], *parts["layers"]]]
    docker = [{"Config": config, "RepoTags": [f"localhost/islet:{given.version}"], "Layers": blobs}]
    (given.output / "manifest.json").write_text(json.dumps(docker, indent=1, sort_keys=True))

    archive = Layer(given.created)
    for file in given.output.rglob("*"):
        if file.is_file():
            archive.add(str(file.relative_to(given.output)), file.read_bytes())
    given.output.with_name(f"{given.output.name}.tar").write_bytes(archive.tar())


if __name__ == "__main__":
    main()
