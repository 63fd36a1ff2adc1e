"""The settings of crawls as users write them: names, types and checks, the same for the command line, API, Python and files.

`catalogue.py` is the table of all settings, `kinds.py` has the types of their values, `file.py` reads `sitelore.toml`,
`domain_rules.py` the rules of a domain, and `sources.py` merges what comes from several places.
"""
