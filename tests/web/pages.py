"""Reading pages as a browser would, strictly: every tag closed, every attribute and link collected."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

_VOID = {"meta", "link", "input", "br", "hr", "img"}
_OPTIONAL = {"td", "th", "tr"}
"""Tags that HTML closes by itself: the body of a matrix uses that."""


@dataclass
class Page(HTMLParser):
    """One parsed page: `links` absolute and of this site, `tags` as met, `words` the text."""

    url: str
    links: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs), f"{tag} has an attribute twice"
        self.tags.append((tag, found))
        if found.get("id"):
            self.ids.append(found["id"] or "")
        for name in ("href", "src", "action"):
            if name in found:
                self._link(found[name] or "")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1] != tag and self._open[-1] in _OPTIONAL:
            self._open.pop()
        last = self._open.pop() if self._open else None
        assert last == tag, f"</{tag}> closes {last} on {self.url}"

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _link(self, target: str) -> None:
        absolute = urljoin(self.url, target)
        assert urlsplit(absolute).netloc == urlsplit(self.url).netloc, f"{target!r} leads elsewhere"
        self.links.append(absolute.partition("#")[0])

    @property
    def text(self) -> str:
        """All text, white space collapsed."""
        return " ".join(" ".join(self.words).split())


def parse(url: str, html: str) -> Page:
    """Read a page; AssertionError where it is not well formed."""
    page = Page(url=url)
    page.feed(html)
    page.close()
    assert not [each for each in page._open if each not in _OPTIONAL], f"{page._open} left open on {url}"
    assert len(page.ids) == len(set(page.ids)), f"an id is used twice on {url}"
    return page
