"""What a page says about itself and where it leads.

`survey` gathers the facts from a tree; `metadata` derives title, dates (`dates`), author (`linked` reads JSON-LD) and so on
from them, `outline` headings and landmarks, `links` every URL, with `resolving` for the many that need no URL parser. `head`
reads every `meta` for those who need its element.
"""
