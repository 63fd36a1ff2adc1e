"""What may not be kept: rules for secrets (`secret_rules`), the first look for their hints (`hinting`), data of persons.

Only `extract/redact.py` makes clean text; here is what it looks for.
"""
