"""What pages say for machines: JSON-LD, Microdata, RDFa and Open Graph, brought into one form with where it came from.

`reading` puts them together; `frames` and its kin shape the kinds that people ask for (products, events, articles …).
"""
