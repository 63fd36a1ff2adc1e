"""Proposals that fix findings: which source file made a page, and edits of it that keep every other byte."""
