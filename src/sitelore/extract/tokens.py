"""Values that belong to one visit and not to the page: what guards a form against forgery, sessions, view state.

They are never kept. Besides being nobody's business, they would make every visit a new document.
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
    """Whether a value looks made for one visit, by what it is called or by how it reads."""
    if not value:
        return False
    if len(value) > _LONGEST or (name and _TOKEN_NAME.search(name)):
        return True
    return _TOKEN_VALUE.match(value) is not None and not (_WORDS.match(value) and value.count("-") + value.count("_") >= 2)
