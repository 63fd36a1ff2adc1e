"""What a page says about itself and where it leads.

`head` reads every `meta` and `link` once, `metadata` makes a title, dates (`dates`), an author (`linked` asks JSON-LD) and so
on of it, `outline` finds headings and landmarks, `links` every address, with `resolving` for the many that need no parser.
"""
