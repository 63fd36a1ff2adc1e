"""What secrets look like. Each rule has a cheap hint, which one scan looks for, and an exact pattern that decides.

Hints are google-re2 syntax and end before the secret's own characters run far, so that one hint never swallows another.
Exact patterns only ever see a short window around a hint; their first group is what gets replaced.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

_PLACEHOLDER = re.compile(
    rb"x{3,}|X{3,}|\*{3,}|\.{3}|[<>{}\[\]]|[$%][A-Za-z({%]|^[$%]|^(?:user(?:name)?|pass(?:word|wd)?|pw|pwd|secret|token|api_?key|your\W|my\W|none|null"
    rb"|true|false|test|example|changeme|redacted)",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(rb"abcdefgh|ABCDEFGH|12345678", re.IGNORECASE)
_UUID = re.compile(rb"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


def entropy(value: bytes) -> float:
    """Shannon entropy in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret."""

    name: str
    hint: str
    exact: re.Pattern[bytes]
    min_entropy: float = 1.9
    """Of group 1; keeps `ghp_xxxxxxxx` and its like readable."""
    before: int = 0
    """How many bytes before the hint the secret may start; 0 when the exact pattern starts where the hint does."""
    reach: int = 400
    """How many bytes from the hint's start on."""
    accept: Callable[[bytes, re.Match[bytes]], bool] | None = None


def _mixed(value: bytes) -> bool:
    return any(48 <= c <= 57 for c in value) and any(c > 64 for c in value)


def _credible(_: bytes, found: re.Match[bytes]) -> bool:
    value = found[1]
    return len(value) >= 8 and _mixed(value) and not _PLACEHOLDER.search(value)


def _credible_braced(_: bytes, found: re.Match[bytes]) -> bool:
    value = found[1].strip(b"{}")
    return len(value) >= 8 and _mixed(value) and not _PLACEHOLDER.search(value)


def _near_curl(data: bytes, found: re.Match[bytes]) -> bool:
    return b"curl" in data[max(0, found.start() - 400) : found.start()] and _credible_braced(data, found)


def _after_facebook(data: bytes, found: re.Match[bytes]) -> bool:
    return b"facebook" in data[max(0, found.start() - 60) : found.start()].lower()


def _assigned(data: bytes, found: re.Match[bytes]) -> bool:
    value, name = found[1], data[max(0, found.start() - 24) : found.start()].lower()
    if b"public" in name or _PLACEHOLDER.search(value) or _SEQUENCE.search(value) or _UUID.match(value):
        return False
    return _mixed(value)


def _url_password(_: bytes, found: re.Match[bytes]) -> bool:
    return not _PLACEHOLDER.search(found[1]) and len(set(found[1])) > 2


def _rule(
    name: str,
    hint: str,
    exact: str,
    min_entropy: float = 1.9,
    *,
    before: int = 0,
    reach: int = 400,
    accept: Callable[[bytes, re.Match[bytes]], bool] | None = None,
) -> Rule:
    return Rule(name, hint, re.compile(exact.encode()), min_entropy, before, reach, accept)


_W = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9_-])"
_NAME = r"(?i:(?:api|access|auth|private|encryption|secret)[_-]?key|secret|passw(?:or)?d|pwd|token|credentials?)"
_ASSIGNED = r"[\"']?[ \t]{0,3}(?::|=|:=|=>)[ \t]{0,3}[\"']"

RULES = (
    _rule("private-key", r"-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY",
          r"-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----"
          r"((?:(?!-----BEGIN)[\s\S]){40,20000}?(?=-----END)|(?:[A-Za-z0-9+/=\s]|\\[nr]){40,20000})",
          3.0, reach=20100),
    _rule("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{4}",
          r"(?<![A-Za-z0-9])((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?![A-Za-z0-9])", 2.5),
    _rule("aws-secret-key", r"(?:[sS]ecret_?|SECRET_)(?:[aA]ccess_?|ACCESS_)?(?:[kK]ey|KEY)",
          r"(?i:secret_?(?:access_?)?key)[\"']?\s{0,3}[:=>]{1,2}\s{0,3}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", 3.0),
    _rule("aws-bedrock-key", r"ABSK[A-Za-z0-9+/]{4}",
          r"(?<![A-Za-z0-9+/])(ABSK[A-Za-z0-9+/]{109,269}={0,2})(?![A-Za-z0-9+/=])"),
    _rule("github-token", r"gh[pousr]_[0-9A-Za-z]{4}", _W + r"(gh[pousr]_[0-9A-Za-z]{36,255})" + _END),
    _rule("github-token", r"github_pat_[0-9A-Za-z]{4}", _W + r"(github_pat_\w{40,255})" + _END),
    _rule("gitlab-token", r"gl(?:pat|ptt|dt|rt|cbt|ft)-[\w-]{4}", _W + r"(gl(?:pat|ptt|dt|rt|cbt|ft)-[\w-]{20,64})", 2.5),
    _rule("anthropic-key", r"sk-ant-", _W + r"(sk-ant-[\w-]{40,200})", 2.5),
    _rule("openai-key", r"sk-(?:proj|svcacct|admin|None)-", _W + r"(sk-(?:proj|svcacct|admin|None)-[\w-]{20,250})"),
    _rule("openai-key", r"\bsk-[A-Za-z0-9]{8}", _W + r"(sk-[A-Za-z0-9]{32,64})" + _END),
    _rule("slack-token", r"xox[abeoprs][-.]", _W + r"(xox[abeoprs][-.](?:xox[bp]-)?[0-9][\w-]{18,250})", 2.9,
          accept=lambda _, m: not _PLACEHOLDER.search(m[1]) and m[1].count(b"1234-") < 2),
    _rule("slack-webhook", r"hooks\.slack\.com/", r"hooks\.slack\.com/((?:services|workflows|triggers)/[\w+/-]{30,90})", 3.0),
    _rule("stripe-key", r"[sr]k_(?:live|test|prod)_", _W + r"([sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,120})", 2.0),
    _rule("google-key", r"AIza[\w-]{4}", _W + r"(AIza[\w-]{35})" + _END, 3.5,
          accept=lambda _, m: not _SEQUENCE.search(m[1])),
    _rule("npm-token", r"npm_[0-9A-Za-z]{4}", _W + r"(npm_[0-9A-Za-z]{36})" + _END),
    _rule("pypi-token", r"pypi-AgEI", _W + r"(pypi-AgEI[\w-]{50,1000})", reach=1100),
    _rule("huggingface-token", r"hf_[A-Za-z]{4}", _W + r"(hf_[A-Za-z0-9]{34,40})" + _END, 2.5),
    _rule("jwt", r"eyJ[A-Za-z0-9_-]{4}",
          r"(?<![A-Za-z0-9_])(eyJ[\w-]{10,1000}\.eyJ[\w-]{10,8000}(?:\.[\w-]{10,2000})?)", 3.0, reach=12000),
    _rule("twilio-key", r"\bSK[0-9a-f]{8}", _W + r"(SK[0-9a-f]{32})" + _END, 3.0),
    _rule("sendgrid-key", r"SG\.[\w-]{4}", _W + r"(SG\.[\w-]{16,32}\.[\w-]{30,64})" + _END, 3.0),
    _rule("shopify-token", r"shp(?:at|ca|pa|ss)_", _W + r"(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})" + _END, 2.5),
    _rule("digitalocean-token", r"do[opr]_v1_", _W + r"(do[opr]_v1_[0-9a-f]{64})" + _END, 2.5),
    _rule("telegram-token", r":AA[\w-]{4}", r"(?<!\d)(\d{8,10}:AA[\w-]{33})" + _END, 3.0, before=11),
    _rule("notion-token", r"ntn_[0-9]{4}", _W + r"(ntn_[0-9]{11}[A-Za-z0-9]{35})" + _END, 3.0),
    _rule("facebook-token", r"EAA[MC][A-Za-z0-9]{4}", _W + r"(EAA[MC][A-Za-z0-9]{80,300})" + _END, 3.5),
    _rule("facebook-token", r"\|[\w-]{27}", r"(?<!\d)(\d{15,16}\|[\w-]{27,40})" + _END, 3.0, before=17, accept=_after_facebook),
    _rule("sourcegraph-token", r"sgp_(?:local|[0-9a-fA-F]{4})",
          _W + r"(sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40})" + _END, 3.0),
    _rule("intra42-secret", r"s-s4t2", _W + r"(s-s4t2(?:ud|af)-[0-9a-f]{64})" + _END, 3.0),
    _rule("vault-token", r"hv[sb]\.[\w-]{4}", _W + r"(hv[sb]\.[\w-]{24,300})", 3.5),
    _rule("azure-secret", r"[0-9]Q~", r"(?<![\w~.])([\w~.]{3}[0-9]Q~[\w~.-]{29,34})(?![\w~-])", 3.3, before=4),
    _rule("onepassword-token", r"ops_eyJ", r"(ops_eyJ[A-Za-z0-9+/]{200,4000}={0,3})", 4.0, reach=4100),
    _rule("url-password", r"://[^\s/@:\"'<>]{0,64}:[^\s/@\"'<>]{3,128}@",
          r"://[^\s/@:\"'<>]{0,64}:([^\s/@\"'<>]{3,128})@[\w\[]", 1.0, accept=_url_password),
    _rule("curl-user", r"(?:-u|--user)[ \t=]{1,3}[\"']?[^\s\"':]{0,60}[\"']?:",
          r"(?:-u|--user)[ \t=]{1,3}[\"']?[^\s\"':]{0,60}[\"']?:[\"']?([^\s\"']{3,128})", 2.0, accept=_near_curl),
    _rule("authorization", r"[aA]uthorization[\"']?: ?",
          r"(?i:authorization)[\"']?: ?[\"']?(?i:(?:basic|bearer|token) )?([\w~+/=.@-]{8,2000})", 2.0, reach=2100,
          accept=_credible),
    _rule("api-key-header", r"-H[ \t]|--header",
          r"(?:-H|--header)[ \t]{1,3}[\"']?[\w-]{0,24}(?i:api-?key|token|secret|auth)[\w-]{0,10}: ?([\w~+/=.-]{8,200})", 2.0,
          accept=_credible),
    _rule("assigned-secret", _NAME + _ASSIGNED, _NAME + _ASSIGNED + r"([\w+/=.~@!#%^&*-]{12,200})[\"']", 3.3, accept=_assigned),
    _rule("assigned-secret", r"[A-Z](?:_KEY|_?SECRET|_?PASSWORD|_?TOKEN)[ \t]?=",
          r"[A-Z](?:_KEY|_?SECRET|_?PASSWORD|_?TOKEN)[ \t]?=[ \t]?([A-Za-z0-9+/=_.-]{20,200})(?![\w(])", 3.5, accept=_assigned),
)  # fmt: skip
