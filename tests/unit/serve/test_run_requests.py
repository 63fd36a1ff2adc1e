from __future__ import annotations

import pytest

from sitelore.frontier.scope import ScopeRule
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.url import Url
from sitelore.serve.problems import ApiProblem
from sitelore.serve.run_requests import (
    QuickCrawlRequest,
    RunRequest,
    follows_documents,
    idempotency_key_of,
    quick_settings,
    run_settings,
)

SEED = "https://site.example/a/"


def settings_of(**settings: object) -> CrawlSettings:
    return run_settings(RunRequest.model_validate({"seedUrl": SEED, "settings": settings}), ())


def test_every_word_of_the_api_becomes_a_setting() -> None:
    settings = settings_of(
        maxPages=7, maxDepth=3, scopeMode="origin", followRedirects=False, demoDelayMs=250, requestTimeoutMs=1500, maxRetries=1
    )
    assert (settings.seeds, settings.max_pages, settings.max_depth) == ((SEED,), 7, 3)
    assert (settings.scope, settings.follow_redirects, settings.max_retries) == (Scope.ORIGIN, False, 1)
    assert (settings.limits.connect_s, settings.limits.headers_s, settings.limits.body_s) == (1.5, 1.5, 1.5)
    assert settings.pace.delay_s == 0.25
    assert (settings.open_origins, settings.allow_private) == ((), ())


def test_missing_settings_have_their_defaults() -> None:
    settings, usual = settings_of(), CrawlSettings()
    assert (settings.limits, settings.pace, settings.scope) == (usual.limits, usual.pace, usual.scope)
    assert (settings.max_pages, settings.max_depth) == (5000, 25)


def test_a_read_mode_that_does_not_exist_is_refused_with_the_names_of_both() -> None:
    with pytest.raises(ValueError, match=r"invalid value 'plain' \(use full or content\)"):
        settings_of(read="plain")


@pytest.mark.parametrize("path", ["/x.pdf", "/x.PDF", "/a/b.docx"])
def test_documents_are_followed_on_request(path: str) -> None:
    url = Url.parse(f"https://site.example{path}")
    assert url is not None
    assert ScopeRule(settings_of(includeDocuments=True)).refusal(url) is None
    assert ScopeRule(settings_of()).refusal(url) is not None
    assert [follows_documents(settings_of(includeDocuments=flag)) for flag in (True, False)] == [True, False]


def test_only_the_operator_opens_private_addresses() -> None:
    body = QuickCrawlRequest.model_validate({"url": "http://10.1.2.3/"})
    with pytest.raises(ApiProblem, match="private"):
        quick_settings(body, ())
    opened = quick_settings(body, ("10.0.0.0/8",))
    assert opened.allow_private == ("10.0.0.0/8",)
    assert opened.open_origins == ()


def test_a_seed_is_kept_in_normal_form() -> None:
    body = QuickCrawlRequest.model_validate({"url": "HTTPS://Site.Example:443/a/../b?utm_source=x#frag"})
    assert quick_settings(body, ()).seeds == ("https://site.example/b",)


def test_a_seed_with_credentials_is_refused() -> None:
    body = QuickCrawlRequest.model_validate({"url": "https://user:pw@site.example/"})
    with pytest.raises(ApiProblem) as problem:
        quick_settings(body, ())
    assert problem.value.errors[0].detail.startswith("the URL contains credentials")


def test_an_idempotency_key_belongs_to_one_caller_and_one_request() -> None:
    one, other = settings_of(), settings_of(maxPages=2)
    assert idempotency_key_of(None, "", one) is None
    keys = [
        idempotency_key_of(key, caller, settings)
        for key, caller, settings in (("k", "", one), ("k", "x", one), ("k2", "", one))
    ]
    assert len({once.key for once in keys if once}) == 3
    again = idempotency_key_of("k", "", other)
    assert again is not None
    assert keys[0] is not None
    assert again.key == keys[0].key
    assert again.fingerprint != keys[0].fingerprint
