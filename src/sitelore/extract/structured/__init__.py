"""Structured data of a page: JSON-LD, Microdata, RDFa and Open Graph, read into entities of one form.

`entities.read_structured` is the entry: it joins what `jsonld`, `microdata` and `rdfa` read and adds Open Graph. `frames`
adds flat summaries of common kinds (products, events, articles …); `jsonld_repair` parses JSON-LD that is not valid JSON.
"""
