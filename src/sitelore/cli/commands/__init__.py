"""One module per command, or per group of small commands. `cli/main.py` lists them."""
