"""HTTP/1.1 client: one bounded GET at a time over pooled connections that the address guard has checked.

`client.py` is the entry: it builds the request, takes an idle connection or opens one (`pool.py`), and returns the response
or a failure as data. `connection.py` is one connection, `response_parser.py` parses heads and body framing, `body_reader.py`
collects the body within its limits, `encodings.py` decompresses it, `deadlines.py` holds the timeouts, `cookies.py` the
run's cookies. `proxies.py` connects through upstream proxies, `tls.py` makes the TLS contexts.
"""
