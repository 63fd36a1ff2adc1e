"""How a database comes to the schema: a new one at once (`current.py`), an older one step by step (`versions/`)."""
