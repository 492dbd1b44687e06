"""results_page.py -- tests/bench/RESULTS.md, section by section: who measures something replaces its own and leaves the others."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parent / "RESULTS.md"


def put(name, by, section):
    """Replaces the section between the marks of that name, or adds it; by: the program that wrote it."""
    begin, end = f"<!-- {name}: written by {by} -->", f"<!-- {name}: end -->"
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Measured\n"
    section = f"{begin}\n{section}{end}\n"
    found = re.search(re.escape(begin) + ".*?" + re.escape(end) + "\n", text, re.S)
    text = text[:found.start()] + section + text[found.end():] if found else text + "\n" + section
    PAGE.write_text(text, encoding="utf-8")
