"""The files of the site. MkDocs calls these functions.

The documents link to each other and to sources as files of the repository, so the site knows them by those names.
Addresses are shorter: docs/api.md becomes api/. A linked source becomes a page with its text, and a linked folder a
page with its list, so that every link works without a copy of the repository.
"""

import os
import posixpath
import re
import subprocess
import sys
from urllib.parse import unquote

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from github_markdown import GitHubMarkdown  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LOOSE = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
OWN = {"icon.svg": "Sources/LiveActivityServer/Console/Assets/icon.svg", "site.css": "script/website/site.css"}
# Documents for who works on Islet: the search finds them after those for who uses it.
BEHIND = ("docs/decisions/", "docs/internals/", "docs/performance.md", "docs/client-performance.md",
          "docs/simulation.md", "docs/systems.md", "CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)


class Site:
    """What is known while one site is built."""

    def __init__(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
            capture_output=True, text=True).stdout.split("\0")
        self.tree = sorted({path for path in listed if path and os.path.isfile(os.path.join(ROOT, path))})
        self.documents = [path for path in self.tree
                          if path in LOOSE or path.startswith("docs/") or path.endswith("/README.md")]
        self.folders = {posixpath.dirname(path) for path in self.tree}
        self.folders |= {parent for folder in self.folders for parent in parents(folder)}
        self.sources, self.lists = set(), set()
        self.page = None

    def read(self, path):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()

    def is_text(self, path):
        try:
            return bool(self.read(path))
        except UnicodeDecodeError:
            return False

    def find_linked(self):
        """Finds the sources and folders that documents link to, and the sources in those folders."""
        for document in (path for path in self.documents if path.endswith(".md")):
            for match in LINK.finditer(self.read(document)):
                target = repository_path(document, match[1] or match[2])
                if target in self.folders:
                    # Its README stands for the folder, as on GitHub.
                    if f"{target}/README.md" not in self.documents:
                        self.lists.add(target)
                    self.sources |= {path for path in self.tree if path.startswith(f"{target}/")
                                     and path not in self.documents and self.is_text(path)}
                elif target in self.tree and target not in self.documents and self.is_text(target):
                    self.sources.add(target)

    def resolve(self, link):
        """The link as MkDocs finds it: a source and a folder have a page of another name."""
        path, mark, anchor = link.partition("#")
        target = repository_path(self.page.file.src_uri, path) if path else None
        if target in self.lists or f"{target}/README.md" in self.documents:
            return f"{path.rstrip('/')}/README.md{mark}{anchor}"
        return f"{path}.md{mark}{anchor}" if target in self.sources else link


def parents(folder):
    while folder := posixpath.dirname(folder):
        yield folder


def repository_path(document, link):
    """The path from the root of the repository; None for the address of another site."""
    path = unquote(link.partition("#")[0])
    return None if not path or "://" in path else posixpath.normpath(
        posixpath.join(posixpath.dirname(document), path))


def title(text, path):
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if not found:
        raise PluginError(f"{path} has no title: begin it with `# `")
    return found[1]


def source_page(path):
    text = site.read(path)
    fence = "`" * (3 + max((len(run) for run in re.findall("`{3,}", text)), default=0))
    # Without colors: they would take most of the time and of the size of the site.
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {path}\n\n{fence}text\n{text}\n{fence}\n"


def list_page(folder):
    lines = []
    for path in (path for path in site.tree if path.startswith(f"{folder}/")):
        name = path[len(folder) + 1:]
        if path in site.documents and path.endswith(".md"):
            lines.append(f"- [{title(site.read(path), path)}]({name})")
        elif path in site.documents or path in site.sources:
            lines.append(f"- [`{name}`]({name})")
    heading = posixpath.basename(folder).capitalize() if folder.startswith("docs/") else folder
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {heading}\n\n" + "\n".join(lines) + "\n"


def address(path):
    """Where a document or another file of docs/ is on the site."""
    path = path.removeprefix("docs/") if path in LOOSE or path.startswith("docs/") else f"source/{path}"
    if not path.endswith(".md"):
        return path
    name = "" if path == "README.md" else path.removesuffix("README.md").removesuffix(".md").rstrip("/") + "/"
    return (name.lower() if path in LOOSE else name) + "index.html"


def on_config(config):
    global site
    site = Site()
    site.find_linked()
    config.markdown_extensions.append(GitHubMarkdown(site.resolve))
    for group in config.nav:
        for name, entries in group.items():
            group[name] = [path for entry in entries for path in (
                [entry] if not entry.endswith("/*") else
                [one for one in site.documents if posixpath.dirname(one) == entry[:-2]])]
    return config


def on_files(files, config):
    # What is left beside docs/ belongs to the theme.
    chosen = Files([file for file in files if file.src_dir != config.docs_dir])

    def add(path, place, inclusion, **content):
        file = File.generated(config, path, inclusion=inclusion, **content)
        file.dest_uri = place
        chosen.append(file)

    for path in site.documents:
        # Documents of the root and of docs/ have to be in the navigation.
        inclusion = InclusionLevel.UNDEFINED if path in LOOSE or path.startswith("docs/") else InclusionLevel.NOT_IN_NAV
        add(path, address(path), inclusion, abs_src_path=os.path.join(ROOT, path))
    for name, path in OWN.items():
        add(name, name, InclusionLevel.UNDEFINED, abs_src_path=os.path.join(ROOT, path))
    for path in sorted(site.sources):
        add(f"{path}.md", f"source/{path}/index.html", InclusionLevel.NOT_IN_NAV, content=source_page(path))
    for path in sorted(site.lists):
        path += "/README.md"
        add(path, address(path), InclusionLevel.NOT_IN_NAV, content=list_page(posixpath.dirname(path)))
    return chosen


def on_page_markdown(markdown, page, config, files):
    site.page = page
    path = page.file.src_uri
    if path.startswith(BEHIND) and "search" not in page.meta:
        page.meta["search"] = {"boost": 0.2}
    return markdown


def on_page_content(html, page, config, files):
    """Leads from the document about APNSClient to what docc makes, where `script/site --docc` adds it."""
    if os.environ.get("ISLET_SITE_DOCC") and page.file.src_uri == "docs/apns-client.md":
        html += '<p><a href="../swift/documentation/apnsclient/">Every declaration of APNSClient</a></p>'
    return html
