#!/usr/bin/env python3
"""Checks that each link of a book's pages leads to a page, and to a place in it, that is there.

    scripts/check-book.py DIR      exit status 1 if one does not
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places and the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places.add(attrs.get("id"))
        link = attrs.get("href" if tag == "a" else "src" if tag in ("img", "script") else "")
        if link:
            self.links.append(link)


def dead(book):
    # The page to print has all others in it, with links that are made for it.
    files = [file for file in sorted(book.rglob("*.html")) if file.name != "print.html"]
    pages = {file.resolve(): Page(file.read_text()) for file in files}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            place = unquote(parts.fragment)
            if not target.exists():
                yield f"{file.relative_to(book.resolve())}: no {link}"
            elif place and target in pages and place not in pages[target].places:
                yield f"{file.relative_to(book.resolve())}: {link}: no such place"


def main():
    book = Path(sys.argv[1])
    found = sorted(set(dead(book)))
    print("\n".join(found) or f"{book}: every link leads somewhere")
    if not any(book.rglob("*.html")):
        sys.exit(f"{book} has no pages")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
