#!/usr/bin/env python3
"""Cuts the codec study's documents from unpacked text packages.

Usage: codec_documents.py PACKAGES OUT
PACKAGES holds one folder a package, as dpkg-deb -x unpacks it. OUT gets test/ and calibration/: plain UTF-8 texts of
about 12,000 characters, each cut at a line's beginning. No package gives documents to both.
With --list it prints the packages' names only.
"""
import gzip
import html.parser
import pathlib
import sys

CHARACTERS = 12000
DOC = "usr/share/doc"

# (package, file, places as shares of the file)
TEST = [
    ("debian-reference-en", "usr/share/debian-reference/debian-reference.en.txt.gz", [0.2, 0.6]),
    ("debian-policy", f"{DOC}/debian-policy/policy.txt.gz", [0.2, 0.6]),
    ("jargon-text", f"{DOC}/jargon-text/jargon.txt.gz", [0.3, 0.5, 0.7]),
    ("git-doc", f"{DOC}/git-doc/user-manual.txt", [0.3, 0.6]),
    ("git-doc", f"{DOC}/git-doc/git-config.html", [0.4]),
    ("perl-doc", "usr/share/perl/5.36.0/pod/perlfunc.pod", [0.3, 0.7]),
    ("perl-doc", "usr/share/perl/5.36.0/pod/perlretut.pod", [0.4]),
    ("vim-runtime", "usr/share/vim/vim90/autoload/netrw.vim", [0.3, 0.7]),
    ("vim-runtime", "usr/share/vim/vim90/doc/builtin.txt", [0.5]),
    ("anarchism", f"{DOC}/anarchism/html/secH3.html", [0.3, 0.6]),
    ("python3.11-doc", f"{DOC}/python3.11/html/library/os.html", [0.4]),
    ("python3.11-doc", f"{DOC}/python3.11/html/library/stdtypes.html", [0.3, 0.7]),
    ("fortunes", "usr/share/games/fortunes/songs-poems", [0.4, 0.8]),
    ("fortunes", "usr/share/games/fortunes/science", [0.5]),
]
CALIBRATION = [
    ("debian-faq", f"{DOC}/debian/FAQ/debian-faq.en.txt.gz", [0.1, 0.4, 0.7]),
    ("developers-reference", "usr/share/developers-reference/developers-reference.txt.gz", [0.2, 0.5, 0.8]),
    ("debian-history", f"{DOC}/debian-history/docs/project-history.en.txt.gz", [0.1, 0.6]),
    ("maint-guide", f"{DOC}/maint-guide/maint-guide.en.txt.gz", [0.2, 0.5, 0.75]),
    ("gnu-standards", f"{DOC}/gnu-standards/standards.html", [0.2, 0.5, 0.8]),
    ("sqlite3-doc", f"{DOC}/sqlite3/windowfunctions.html", [0.05]),
    ("harden-doc", f"{DOC}/harden-doc/html/en-US/ch12.html", [0.1, 0.5]),
    ("libpython3.11-stdlib", "usr/lib/python3.11/doctest.py", [0.3, 0.7]),
    ("libpython3.11-stdlib", "usr/lib/python3.11/mailbox.py", [0.4]),
    ("libpython3.11-stdlib", "usr/lib/python3.11/statistics.py", [0.3]),
    ("libpython3.11-stdlib", "usr/lib/python3.11/tarfile.py", [0.5]),
    ("installation-guide-amd64", f"{DOC}/installation-guide-amd64/en/install.en.txt.gz", [0.3, 0.7]),
]


class Text(html.parser.HTMLParser):
    """The words of an HTML page."""

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def text_of(path):
    data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    if ".html" in path.name:
        parser = Text()
        parser.feed(text)
        text = "".join(parser.parts)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for i, line in enumerate(lines) if line or (i > 0 and lines[i - 1])]  # one empty line at most
    return "\n".join(kept)


def main():
    if "--list" in sys.argv:
        print("\n".join(sorted({entry[0] for entry in TEST + CALIBRATION})))
        return 0
    packages, out = map(pathlib.Path, sys.argv[1:3])
    for role, entries in (("test", TEST), ("calibration", CALIBRATION)):
        folder = out / role
        folder.mkdir(parents=True, exist_ok=True)
        for package, file, places in entries:
            path = packages / package / file
            if not path.exists():
                sys.exit(f"codec_documents: {package} has no {file}: this study names the files of Debian 12")
            text = text_of(path)
            for place in places:
                start = text.find("\n", int(place * len(text))) + 1
                piece = text[start : start + CHARACTERS]
                if len(piece) < CHARACTERS:
                    sys.exit(f"codec_documents: {path} is too short at {place}")
                name = f"{package}-{path.name.split('.')[0]}-{int(place * 100):02d}.txt"
                (folder / name).write_text(piece + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
