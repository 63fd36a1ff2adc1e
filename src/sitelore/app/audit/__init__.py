"""Audits of runs: gives what a crawl stored to the rules of `sitelore.audit`, stores the findings, and writes reports."""
