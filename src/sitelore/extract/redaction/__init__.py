"""Redaction: removes secrets and, where enabled, personal data from everything that a site sends.

`redactor` makes clean text, by the rules of `secret_rules.toml` (packed into `secret_rules.bin`), and `personal_data` finds
personal data.
"""
