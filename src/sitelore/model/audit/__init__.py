"""Findings of an audit, and the facts of pages that its rules judge."""
