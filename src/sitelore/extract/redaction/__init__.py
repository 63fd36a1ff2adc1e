"""Redaction: removes secrets and, where enabled, personal data from everything that a site sends.

`redactor` makes clean text, by the rules of `rules` (`secret_rules.toml`, which is packed into `secret_rules.bin`), and
`personal_data` finds personal data.
"""
