"""Markdown as GitHub reads it, for MkDocs.

Python-Markdown differs from GitHub in lists, tables and anchors. Here markdown-it parses the text, and
Python-Markdown gets the finished tree. So a document looks on the site as it does in the repository.
"""

import re
from xml.etree import ElementTree

from markdown.extensions import Extension
from markdown.util import AtomicString, Registry
from markdown_it import MarkdownIt
from mkdocs.exceptions import BuildError
from pygments import highlight
from pygments.filter import simplefilter
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Text
from pygments.util import ClassNotFound

# Comments may stand alone, as marks for the tests of the repository. Other HTML is an error.
COMMENT = re.compile(r"\s*(<!--(?:(?!-->).)*-->\s*)+\Z", re.DOTALL)
FORMATTER = HtmlFormatter(cssclass="highlight", wrapcode=True)


def parser():
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def slug(text):
    """The anchor that GitHub gives to a heading with this text."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


class GitHubMarkdown(Extension):
    """Replaces Python-Markdown's parser. `resolve` turns the target of a link into a file that MkDocs knows."""

    def __init__(self, resolve):
        super().__init__()
        self.resolve = resolve

    def extendMarkdown(self, md):
        md.preprocessors = Registry()
        for name in ("inline", "prettify"):
            md.treeprocessors.deregister(name)
        md.parser = TreeParser(md, self.resolve)


class TreeParser:
    """Stands where Python-Markdown's BlockParser does."""

    def __init__(self, md, resolve):
        self.md = md
        self.resolve = resolve
        self.blockprocessors = Registry()

    def parseDocument(self, lines):
        root = ElementTree.Element(self.md.doc_tag)
        self.anchors = {}
        self.fill(root, parser().parse("\n".join(lines)))
        for heading in (one for one in root.iter() if re.fullmatch("h[1-6]", one.tag)):
            heading.set("id", self.anchor(slug("".join(heading.itertext()))))
        return ElementTree.ElementTree(root)

    def anchor(self, wanted):
        """The anchor itself, or with a number as GitHub appends it if another heading has it."""
        count = self.anchors.get(wanted, 0)
        self.anchors[wanted] = count + 1
        return wanted if count == 0 else self.anchor(f"{wanted}-{count}")

    def fill(self, parent, tokens):
        """Appends the tokens to the element, nested as their opening and closing tokens say."""
        open_elements = [parent]
        for token in tokens:
            top = open_elements[-1]
            if token.nesting < 0:
                if not token.hidden:
                    open_elements.pop()
            elif token.nesting > 0:
                # Paragraphs of a tight list are hidden.
                if not token.hidden:
                    open_elements.append(self.element(top, token))
            else:
                self.add(top, token)
        assert len(open_elements) == 1

    def element(self, parent, token):
        attributes = {name: str(value) for name, value in token.attrs.items()}
        for name in ("href", "src"):
            if name in attributes:
                attributes[name] = self.resolve(attributes[name])
        return ElementTree.SubElement(parent, token.tag, attributes)

    def add(self, parent, token):
        """Appends a token without content of tokens, or one whose content is inline."""
        if token.type == "inline":
            self.fill(parent, token.children)
        elif token.type in ("text", "text_special"):
            text(parent, token.content)
        elif token.type == "softbreak":
            text(parent, "\n")
        elif token.type == "code_inline":
            ElementTree.SubElement(parent, "code").text = AtomicString(token.content)
        elif token.type in ("fence", "code_block"):
            # The raw HTML postprocessor replaces the paragraph.
            html = code(token.content, token.info.split()[0] if token.info.strip() else "text")
            ElementTree.SubElement(parent, "p").text = AtomicString(self.md.htmlStash.store(html))
        elif token.type == "image":
            token.attrs["alt"] = token.content
            self.element(parent, token)
        elif token.type in ("hardbreak", "hr"):
            ElementTree.SubElement(parent, token.tag)
        elif token.type in ("html_block", "html_inline"):
            if not COMMENT.match(token.content):
                raise BuildError(f"HTML other than a comment: {token.content.strip()[:60]}")
        else:
            raise BuildError(f"Markdown that the site does not know: {token.type}")


def text(parent, content):
    """Appends text to an element, after its last child if it has one."""
    if len(parent):
        parent[-1].tail = AtomicString((parent[-1].tail or "") + content)
    else:
        parent.text = AtomicString((parent.text or "") + content)


@simplefilter
def without_errors(self, lexer, stream, options):
    """Samples leave parts out with `…`, which is no error of the reader's."""
    return ((Text if kind is Error else kind, value) for kind, value in stream)


def code(content, language):
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        raise BuildError(f"a code block in an unknown language: {language}") from None
    lexer.add_filter(without_errors())
    return highlight(content, lexer, FORMATTER)
