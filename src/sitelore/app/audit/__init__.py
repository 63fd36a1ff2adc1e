"""Audits of runs: applies the rules of `sitelore.audit` to stored pages, stores the findings, and writes reports."""
