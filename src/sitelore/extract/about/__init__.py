"""What a page says about itself and where it leads.

`survey` gathers the facts from a tree, `surveying` has compiled code gather the same; `metadata` makes a title, dates
(`dates`), an author (`linked` asks JSON-LD) and so on of them, `outline` headings and landmarks, `links` every address, with
`resolving` for the many that need no parser. `head` reads every `meta` for those who need its element.
"""
