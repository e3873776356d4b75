"""Checks the links of the built site: check_links.py SITE BASE LIST

Every link within the site must lead to a file, and its anchor to an element. A page must show each image, and load
nothing from another site. Links to other sites are written to LIST, one a line. BASE is the path to serve the site at.
"""

import os
import posixpath
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

# Made by docc, which checks its own links.
SWIFT = "swift/"
# A mistake of the theme is in every page.
MOST = 40


class Page(HTMLParser):
    """The anchors of a page, and what it links to or loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.repeated, self.links, self.loads = set(), [], [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if anchor := attributes.get("id"):
            if anchor in self.anchors:
                self.repeated.append(anchor)
            self.anchors.add(anchor)
        for name in ("href", "src", "data", "action", "poster"):
            if attributes.get(name) and attributes.get("rel") != "canonical":
                (self.links if tag == "a" else self.loads).append(attributes[name])


def pages(site):
    for folder, _, names in sorted(os.walk(site)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), site)
            if name.endswith(".html") and not path.startswith(SWIFT):
                yield path, Page(os.path.join(site, path))


def target(site, base, page, link):
    """The file of the site that a link leads to, from the site's folder; None if it leaves the site."""
    path = unquote(urlsplit(link).path)
    if path.startswith("/"):
        if not path.startswith(base):
            return None
        path = path[len(base):]
    else:
        path = posixpath.join(posixpath.dirname(page), path) if path else page
    path = posixpath.normpath(path)
    if path.startswith(".."):
        return None
    return posixpath.normpath(posixpath.join(path, "index.html")) if os.path.isdir(os.path.join(site, path)) else path


def problem(site, all_pages, link, path):
    """Says what is wrong with a link to a file within the site; None if nothing is."""
    if path is None:
        return "leaves the site"
    if not os.path.isfile(os.path.join(site, path)):
        return "leads to no file"
    anchor = unquote(urlsplit(link).fragment)
    if anchor and path in all_pages and anchor not in all_pages[path].anchors:
        return "names an anchor that is not there"
    return None


def main(site, base, listing):
    all_pages = dict(pages(site))
    found, elsewhere, used = [], set(), set()
    for name, page in all_pages.items():
        found += [f"{name}: the anchor {anchor} appears twice" for anchor in page.repeated]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme not in ("", "data") or parts.netloc:
                elsewhere.add(link)
                if link in page.loads:
                    found.append(f"{name}: loads {link} from another site")
            elif not parts.scheme:
                path = target(site, base, name, link)
                used.add(path)
                if what := problem(site, all_pages, link, path):
                    found.append(f"{name}: {link} {what}")
    images = os.path.join(site, "images")
    found += [f"images/{name}: no page shows it" for name in os.listdir(images) if f"images/{name}" not in used]
    with open(listing, "w", encoding="utf-8") as file:
        file.writelines(f"{link}\n" for link in sorted(elsewhere))
    if len(all_pages) < 2:
        found.append(f"{site} has no pages")
    if found:
        found = sorted(set(found))
        more = [f"… and {len(found) - MOST} more"] if len(found) > MOST else []
        sys.exit("\n".join(found[:MOST] + more))
    count = sum(len(page.links) + len(page.loads) for page in all_pages.values())
    print(f"{count} links of {len(all_pages)} pages are right; {len(elsewhere)} to other sites are in {listing}")


if __name__ == "__main__":
    main(*sys.argv[1:])
