"""Audits a crawled site: rules as data and pure functions, findings with a life over runs, and figures about the whole site.

Nothing here reads a store or a clock. A caller builds `AuditPage` values from rows and stored facts (`page.py`), adds them to a
`SiteBuilder` (`site.py`), and gets findings from `check_page` and `check_site` (`checks.py`).
"""
