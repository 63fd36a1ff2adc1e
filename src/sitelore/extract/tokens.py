"""Recognises values that are made for one visit: tokens against request forgery, session ids, view state.

They are private, and would make every visit a new document, so they are never stored.
"""

from __future__ import annotations

import re

_TOKEN_NAME = re.compile(
    r"csrf|xsrf|token|nonce|authenticity|__viewstate|__eventvalidation|__requestverif|(?:^|[_.\[-])(?:sid|sess(?:ion)?(?:_?id)?)(?:$|[_.\]-])"
    r"|session_?id|phpsessid|jsessionid|secret|signature|captcha|(?:^|_)hash(?:$|_)|_wpnonce|formkey|form_key|form_build_id|fingerprint"
    r"|(?:^|_)(?:api_?)?key$|timestamp|(?:^|_)ts$|password|passwd|honeypot",
    re.IGNORECASE,
)
_TOKEN_VALUE = re.compile(
    r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/_=.-]{20,}$"
    r"|[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
    r"|(?=[a-f]*\d)[0-9a-f]{16,}$|\d{10}(?:\d{3}|\.\d+)?$"
)
_WORDS = re.compile(r"[a-z]+(?:[-_./][a-z0-9]+)*$")
_LONGEST = 120


def is_token(name: str, value: str) -> bool:
    """Whether a value is made for one visit, by its name or its form."""
    if not value:
        return False
    if len(value) > _LONGEST or (name and _TOKEN_NAME.search(name)):
        return True
    return _TOKEN_VALUE.match(value) is not None and not (_WORDS.match(value) and value.count("-") + value.count("_") >= 2)
