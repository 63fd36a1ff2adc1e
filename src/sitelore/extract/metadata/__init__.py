"""A page's metadata and links.

`page_facts` collects facts from a tree, `metadata` derives title, author, dates (`dates`), robots directives and so on from
them, and `links` resolves every URL.
"""
