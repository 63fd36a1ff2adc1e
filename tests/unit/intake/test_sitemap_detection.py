from __future__ import annotations

import gzip

import pytest

from sitelore.intake.sitemap_detection import looks_like_sitemap

URLSET = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>'


@pytest.mark.parametrize(
    ("head", "content_type", "path"),
    [
        (URLSET, "application/xml", "/x"),
        (b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!-- made by x -->\n<?xml-stylesheet href='a'?>" + URLSET, "text/html", "/"),
        (b"<s:urlset xmlns:s='x'>", "", "/"),
        (b"<sitemapindex>", "text/xml", "/"),
        (b"<rss version='2.0'>", "application/rss+xml", "/feed"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", "text/html", "/feed"),
        (b'<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/">', "", "/"),
        (
            b'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY l0 "lol"><!ENTITY l1 "&l0;">',
            "application/xml",
            "/b/57/sitemap.xml",
        ),
        ("<?xml version='1.0'?><urlset>".encode("utf-16"), "", "/"),
        ("<urlset>".encode("utf-16-le"), "", "/"),
        (gzip.compress(URLSET * 50, mtime=0), "application/octet-stream", "/dump.gz"),
        (gzip.compress(URLSET * 500, mtime=0)[:60], "", "/dump.gz"),
        (gzip.compress(bytes(4096), mtime=0), "application/x-gzip", "/b/60/sitemap.xml.gz"),
        (b"https://example.com/a\nhttps://example.com/b", "text/plain", "/sitemap.txt"),
    ],
)
def test_sitemaps_and_feeds_are_recognised_by_their_start(head: bytes, content_type: str, path: str) -> None:
    assert looks_like_sitemap(head, content_type, path)


@pytest.mark.parametrize(
    ("head", "content_type", "path"),
    [
        (b"", "", "/sitemap.xml"),
        (b"<!doctype html><html>", "text/html", "/sitemap"),
        (b"  <HTML><body><urlset>", "text/html", "/"),
        (b"<!-- x --><html>", "text/html", "/"),
        (b"<p>about <rss>", "text/html", "/"),
        (b"<svg xmlns='x'><feed>", "image/svg+xml", "/"),
        (b'<rdf:RDF xmlns:foaf="http://xmlns.com/foaf/0.1/">', "application/rdf+xml", "/"),
        (b"<!-- <urlset> never closed", "text/html", "/"),
        (gzip.compress(b"a file", mtime=0), "application/gzip", "/release.tar.gz"),
        (b"\x1f\x8bnot gzip at all", "", "/x.gz"),
        (b"https://example.com/a\n", "text/plain", "/notes.txt"),
        (b"How to write a sitemap", "text/plain", "/sitemap.txt"),
    ],
)
def test_pages_are_not_mistaken_for_sitemaps(head: bytes, content_type: str, path: str) -> None:
    assert not looks_like_sitemap(head, content_type, path)
