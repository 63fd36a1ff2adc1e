"""The audit rules, one module for each subject; `audit/catalogue.py` has the table of all of them."""
