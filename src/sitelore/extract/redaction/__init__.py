"""What may not be kept: rules for secrets (`secret_rules`), the prefilter for their hints (`prefilter`), data of persons.

Only `extract/redact.py` makes clean text; here is what it looks for.
"""
