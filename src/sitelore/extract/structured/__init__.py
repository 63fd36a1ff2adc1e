"""Structured data of a page: JSON-LD, Microdata, RDFa and Open Graph, read into entities of one form.

`entities.read_structured` is the entry: it joins what `jsonld` and `rdfa` read with Microdata and Open Graph. `frames`
adds flat summaries of common kinds (products, events, articles …); `jsonld_repair` parses JSON-LD that is not valid JSON.
"""
