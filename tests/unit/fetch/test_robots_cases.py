"""Cases of RFC 9309, written for this repository: a robots.txt, and which paths it allows (+) and forbids (-)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.unit.fetch.raw_server import url_of

from sitelore.fetch.robots_rules import MAX_BYTES, RobotsRules


@dataclass(frozen=True, slots=True)
class Case:
    """A file and verdicts on paths: `+/open -/closed`."""

    file: str | bytes
    verdicts: str
    agent: str = "Sitelore"


CASES = {
    # Groups and user agents (§2.2.1)
    "an empty file allows everything": Case("", "+/ +/a"),
    "comments alone allow everything": Case("# nothing\n\n# here\n", "+/"),
    "rules before any group are ignored": Case("Disallow: /\nUser-agent: *\nDisallow: /a\n", "+/ -/a"),
    "the group of the agent replaces the general one": Case(
        "User-agent: *\nDisallow: /\n\nUser-agent: sitelore\nDisallow: /a\n", "+/ -/a +/b"
    ),
    "the general group is for agents that are not named": Case(
        "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n", "+/ -/a"
    ),
    "no general group allows agents that are not named": Case("User-agent: other\nDisallow: /\n", "+/ +/a"),
    "names of agents ignore case": Case("User-Agent: SiteLore\nDisallow: /\n", "-/"),
    "a version after the name does not matter": Case("User-agent: Sitelore/2.0\nDisallow: /\n", "-/"),
    "a longer name is another agent": Case("User-agent: SiteloreImages\nDisallow: /\n", "+/"),
    "a shorter name is another agent": Case("User-agent: Site\nDisallow: /\n", "+/"),
    "agents in a row share the rules that follow": Case(
        "User-agent: a\nUser-agent: Sitelore\nUser-agent: b\nDisallow: /x\n", "-/x +/y"
    ),
    "two groups of one agent are one": Case(
        "User-agent: Sitelore\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n\nUser-agent: Sitelore\nDisallow: /y\n",
        "-/x -/y +/z",
    ),
    "an empty line does not end a group": Case("User-agent: *\n\n\nDisallow: /x\n", "-/x"),
    "an unknown line between agents does not part them": Case(
        "User-agent: a\nSitemap: http://e.example/s.xml\nUser-agent: Sitelore\nDisallow: /x\n", "-/x"
    ),
    "an empty group of the agent allows everything": Case(
        "User-agent: Sitelore\nUser-agent: x\nDisallow:\n\nUser-agent: *\nDisallow: /\n", "+/ +/a"
    ),
    # The longest match wins (§2.2.2)
    "the longest rule wins, in either order": Case("User-agent: *\nAllow: /a/b\nDisallow: /a\n", "-/a -/a/c +/a/b +/a/bc"),
    "allow wins a tie": Case("User-agent: *\nDisallow: /a\nAllow: /a\n", "+/a +/ab"),
    "the root is the shortest rule": Case("User-agent: *\nDisallow: /\nAllow: /open\n", "-/ -/x +/open +/opened"),
    "an empty disallow forbids nothing": Case("User-agent: *\nDisallow:\n", "+/ +/x"),
    "an empty allow allows nothing by itself": Case("User-agent: *\nDisallow: /x\nAllow:\n", "-/x +/y"),
    "a path that is longer than the rule matches": Case(
        "User-agent: *\nDisallow: /fish\n", "-/fish -/fish.html -/fish/salmon -/fishheads +/Fish +/catfish"
    ),
    "a slash at the end means the folder": Case(
        "User-agent: *\nDisallow: /fish/\n", "+/fish -/fish/ -/fish/salmon +/fish.html"
    ),
    "paths are case-sensitive": Case("User-agent: *\nDisallow: /Private\n", "-/Private +/private"),
    "the query belongs to the path": Case(
        "User-agent: *\nDisallow: /a?b=1\nDisallow: /*?s=\n", "+/a -/a?b=1 -/a?b=12 +/a?c=1 -/deep/x?s=q"
    ),
    "fragments do not count": Case("User-agent: *\nDisallow: /a\n", "-/a#b +/b#/a"),
    # Wildcards (§2.2.3)
    "a star matches any characters": Case("User-agent: *\nDisallow: /*.php\n", "-/x.php -/a/b.php?q -/.phpx +/php"),
    "a dollar ends the pattern": Case("User-agent: *\nDisallow: /*.php$\n", "-/x.php +/x.php?q +/x.php5"),
    "a dollar inside is a character": Case("User-agent: *\nDisallow: /a$b\n", "-/a$b +/a"),
    "stars in a row are one star": Case("User-agent: *\nDisallow: /a***b\n", "-/ab -/axxb +/a"),
    "a star at the end changes nothing": Case("User-agent: *\nDisallow: /fish*\n", "-/fish -/fishes +/cat"),
    "a star at the start needs no slash": Case("User-agent: *\nDisallow: *.gif$\n", "-/x.gif -/a/b.gif +/x.gifs"),
    "every part must match in order": Case("User-agent: *\nDisallow: /*/b/*/d$\n", "-/a/b/c/d +/b/c/d +/a/b/d +/a/b/c/de"),
    "an escaped star is not a wildcard": Case("User-agent: *\nDisallow: /a%2Ab\n", "-/a%2Ab +/axb"),
    "an escaped dollar does not end a pattern": Case("User-agent: *\nDisallow: /a%24\n", "-/a%24 -/a%24b +/a"),
    "other signs of patterns are characters": Case("User-agent: *\nDisallow: /a.b+(c)[d]\n", "-/a.b+(c)[d] +/axb"),
    # Percent-encoding (§2.2.2)
    "letters outside ASCII match their encoding": Case(
        "User-agent: *\nDisallow: /größe\n", "-/größe -/gr%C3%B6%C3%9Fe -/gr%c3%b6%c3%9fe"
    ),
    "an encoding matches the letters": Case("User-agent: *\nDisallow: /gr%C3%B6%C3%9Fe\n", "-/größe"),
    "encoded letters of ASCII are the letters": Case("User-agent: *\nDisallow: /%61%62c\n", "-/abc -/%61bc"),
    "an encoded slash is not a slash": Case("User-agent: *\nDisallow: /a%2Fb\n", "-/a%2Fb -/a%2fb +/a/b"),
    # Lines, keys and bytes
    "keys ignore case and spaces": Case("  uSeR-aGeNt :  *  \n\tDISALLOW\t:\t/x\t\n", "-/x +/y"),
    "carriage returns end lines": Case("User-agent: *\rDisallow: /x\rAllow: /x/y\r", "-/x +/x/y"),
    "CRLF ends lines": Case("User-agent: *\r\nDisallow: /x\r\n", "-/x +/y"),
    "the last line needs no end": Case("User-agent: *\nDisallow: /x", "-/x"),
    "a byte order mark is skipped": Case(b"\xef\xbb\xbfUser-agent: *\nDisallow: /x\n", "-/x"),
    "a comment ends a value": Case("User-agent: * # all\nDisallow: /x # not this\nDisallow: /y#z\n", "-/x -/y"),
    "lines without a colon are ignored": Case("User-agent: *\nhello\nDisallow: /x\n= / :\n", "-/x"),
    "unknown keys are ignored": Case("User-agent: *\nNoindex: /y\nHost: a.example\nDisallow: /x\n", "-/x +/y"),
    "bytes that are not UTF-8 do not hide other rules": Case(b"User-agent: *\nDisallow: /\xff\xfe\nDisallow: /x\n", "-/x +/y"),
    "an HTML page forbids nothing": Case(
        "<!doctype html><title>404: not here</title><p>User-agent: *<br>Disallow: /\n", "+/ +/x"
    ),
    "a null byte does not end the file": Case(b"User-agent: *\nDisallow: /a\x00b\nDisallow: /x\n", "-/x"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_robots_txt_is_understood_as_in_the_rfc(name: str) -> None:
    case = CASES[name]
    rules = RobotsRules.parse(case.file)
    wrong = [
        verdict
        for verdict in case.verdicts.split()
        if rules.judge(url_of(f"https://site.example{verdict[1:]}"), [case.agent]).allowed is not (verdict[0] == "+")
    ]
    assert wrong == []


def test_rules_up_to_the_size_limit_of_the_rfc_are_read() -> None:
    assert MAX_BYTES >= 500 * 1024
    head, rule = b"User-agent: *\n", b"Disallow: /last\n"
    filler = b"#" * (500 * 1024 - len(head) - len(rule) - 1) + b"\n"
    assert not RobotsRules.parse(head + filler + rule).judge("/last", ["Sitelore"]).allowed
