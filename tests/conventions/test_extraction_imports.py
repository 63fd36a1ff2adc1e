"""Modules that an extraction process imports: each worker has one, and it is restarted when a page crashes it."""

from __future__ import annotations

import subprocess
import sys

_READS_A_PAGE = """
import sys
import sitelore.crawl.extraction_process
from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

words = "The mill stands where the river bends, and its wheel has not turned since the flood. " * 20
page = f"<html><title>Mill</title><body><nav><a href=/a>Menu</a></nav><main><h1>Mill</h1><p>{words}</p></main></body></html>"
html = (("content-type", "text/html"),)
reading = read(Response(Url.trusted("http://localhost/"), 200, html, page.encode()), ReadOptions())
assert reading.word_count > 300, reading
print("numpy" in sys.modules)
"""


def test_a_page_is_read_without_numpy() -> None:
    done = subprocess.run([sys.executable, "-c", _READS_A_PAGE], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False", done.stderr
