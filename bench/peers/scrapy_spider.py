# mypy: ignore-errors
# (Scrapy is installed in the benchmark's own environment, .bench/scrapy, so its types are not available.)
"""A Scrapy spider as an expert would tune it for the job of `bench/crawl.py`.

    python scrapy_spider.py URL OUT_DIR --job lean|store|same|markdown|markdown-full --loop default|uvloop|epoll

Every job crawls the whole host breadth first with robots.txt obeyed, cookies and redirects on and a durable frontier (JOBDIR),
and writes url, title, h1, description and links of every page as JSON lines. `store` also keeps the text and the
zstd-compressed HTML. `same` does what Sitelore leaves in its database: an address guard before every request, secrets of the
commonest formats taken out before anything is kept (one pattern of re2, which takes a tenth of what `re` takes), frame
stripped, main content as Markdown and text (by turbohtml, as we do), content hash, compressed HTML. `markdown` runs
trafilatura in its fast mode on the tree already parsed and writes one Markdown file a page; `markdown-full` is trafilatura
with its default fallbacks, which find more.

Tuned: no delay, own duplicate check on the raw href before any URL is joined or any Request made, one lxml parse with compiled
XPaths and plain strings (smart ones keep whole trees alive), no selectors, items written by hand instead of through the feed
exporter, every extension and middleware that the job does not need off. Scrapy's default loop was the best of three.
"""

from __future__ import annotations

import argparse
import hashlib
import ipaddress
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import scrapy
from lxml import etree
from lxml.html import HTMLParser
from scrapy.crawler import CrawlerProcess

HREFS = etree.XPath("//a/@href", smart_strings=False)
TITLE = etree.XPath("string(//title)", smart_strings=False)
H1 = etree.XPath("string(//h1)", smart_strings=False)
DESCRIPTION = etree.XPath("string(//meta[@name='description']/@content)", smart_strings=False)

SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "COOKIES_ENABLED": True,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "DNSCACHE_ENABLED": True,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "MEMUSAGE_ENABLED": False,
    "REFERER_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "USER_AGENT": "ScrapyPeer/1.0",
    # Breadth first, as the manual says it is done.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "EXTENSIONS": {"scrapy.extensions.corestats.CoreStats": None, "scrapy.extensions.feedexport.FeedExporter": None},
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": None,
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    },
}
# API keys of services, and private keys in PEM format.
SECRETS = (
    rb"AKIA[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|github_pat_\w{82}|glpat-[\w-]{20}|xox[abprs]-[0-9A-Za-z-]{10,}|AIza[\w-]{35}"
    rb"|sk_live_[0-9A-Za-z]{24,}|rk_live_[0-9A-Za-z]{24,}|sk-[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}|SG\.[\w-]{22}\.[\w-]{43}"
    rb"|key-[0-9a-f]{32}|AC[0-9a-f]{32}|npm_[0-9A-Za-z]{36}|pypi-AgEIcHlwaS5vcmc[\w-]{50,}|dop_v1_[0-9a-f]{64}|shpat_[0-9a-f]{32}"
    rb"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


@lru_cache(maxsize=1024)
def is_allowed(host: str) -> bool:
    """Whether a host may be fetched: public addresses, and loopback, where the site of the benchmark is."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return True  # a name: this benchmark has none; a real guard would resolve it
    return address.is_loopback or address.is_global


class Guard:
    """Refuses requests to addresses that a crawler must not reach."""

    def process_request(self, request: Any) -> None:
        if not is_allowed(urlsplit(request.url).hostname or ""):
            raise scrapy.exceptions.IgnoreRequest


LOOPS = {
    "default": {},
    "uvloop": {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"},
    "epoll": {"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"},
}


class Peer(scrapy.Spider):
    name = "peer"

    def __init__(self, url: str, out: str, job: str, **more: Any) -> None:
        super().__init__(**more)
        self.start_urls = [url]
        self.out, self.job = Path(out), job
        self.origin = url.rstrip("/")
        self.host = urlsplit(url).netloc
        self.seen = {url}  # only saves work: the durable duplicate filter of JOBDIR stands behind it
        self.known_hrefs = set()
        self.items = (self.out / "items.jsonl").open("w", encoding="utf-8")
        # trafilatura reads nothing from a plain etree tree: it wants the elements of lxml.html.
        self.parser = (HTMLParser if job.startswith("markdown") else etree.HTMLParser)(encoding="utf-8")
        if job in {"store", "same"}:
            import zstandard

            self.pack = zstandard.ZstdCompressor(level=1).compress
            (self.out / "html").mkdir()
        if job == "same":
            import re2
            import turbohtml

            self.read = turbohtml.parse
            self.secrets = re2.compile(SECRETS)
        if job.startswith("markdown"):
            import trafilatura

            self.extract = trafilatura.extract
            (self.out / "md").mkdir()

    def parse(self, response: Any) -> Iterator[scrapy.Request]:
        body = response.body
        if self.job == "same" and self.secrets.search(body):
            body = self.secrets.sub(b"[REDACTED]", body)
        tree = etree.fromstring(body, self.parser)
        hrefs = HREFS(tree)
        item = {
            "url": response.url, "title": TITLE(tree), "h1": H1(tree), "description": DESCRIPTION(tree), "links": hrefs,
        }  # fmt: skip
        if self.job in {"store", "same"}:
            etree.strip_elements(tree, "script", "style", "noscript", with_tail=False)
            if self.job == "same":
                page = self.read(body.decode("utf-8", "replace"))
                page.remove("script,style,noscript,nav,header,footer,aside,form")
                main = page.find("main") or page.find("article") or page
                item["markdown"] = main.to_markdown()
                item["text"] = " ".join(main.text.split())
                item["content_hash"] = hashlib.sha256(item["text"].lower().encode()).hexdigest()
            else:
                item["text"] = " ".join(" ".join(tree.itertext()).split())
            key = hashlib.sha256(body).hexdigest()
            (self.out / "html" / key).write_bytes(self.pack(body))
            item["snapshot"] = key
        elif self.job.startswith("markdown"):
            text = self.extract(tree, output_format="markdown", include_links=True, fast=self.job == "markdown") or ""
            name = hashlib.sha256(response.url.encode()).hexdigest()[:16]
            (self.out / "md" / f"{name}.md").write_text(text, encoding="utf-8")
        self.items.write(json.dumps(item, ensure_ascii=False) + "\n")
        for href in hrefs:
            if href in self.known_hrefs:
                continue
            # Root-relative and absolute hrefs mean the same on every page, so they need joining only once.
            if href.startswith(("/", "http")):
                self.known_hrefs.add(href)
            url = urldefrag(urljoin(response.url, href)).url
            if url not in self.seen and url.startswith(self.origin) and urlsplit(url).netloc == self.host:
                self.seen.add(url)
                yield scrapy.Request(url)

    def closed(self, _reason: str) -> None:
        self.items.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("out")
    parser.add_argument("--job", choices=["lean", "store", "same", "markdown", "markdown-full"], default="lean")
    parser.add_argument("--loop", choices=list(LOOPS), default="default")
    arguments = parser.parse_args()
    settings = SETTINGS | LOOPS[arguments.loop] | {"JOBDIR": str(Path(arguments.out) / "job")}
    if arguments.job == "same":
        settings["DOWNLOADER_MIDDLEWARES"] = {**SETTINGS["DOWNLOADER_MIDDLEWARES"], Guard: 50}
    process = CrawlerProcess(settings)
    process.crawl(Peer, url=arguments.url, out=arguments.out, job=arguments.job)
    process.start()


if __name__ == "__main__":
    main()
