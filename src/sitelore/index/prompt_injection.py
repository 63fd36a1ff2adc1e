"""Detects prompt injection: text of a page that reads like instructions to a language model.

Matches are flagged with their evidence and nothing is removed: the readers of search results decide. A page about prompt
injection quotes such text and is flagged like one that means it. One google-re2 scan finds the hints of all rules at once; a
text without a hint costs that scan alone. Around a hint, its rule's pattern decides.

Patterns allow only a few characters or words between two of their words, so matching is linear. A rule that would also match
ordinary manuals ("send the token to the server") requires more than its verb.
"""

# ruff: noqa: E501, RUF001  # patterns stay on one line, and other languages have other letters

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import re2

from sitelore.model.ids import CleanText, piece_of
from sitelore.model.search import Flag

_GAP = r"(?:[\s*_>\"'“”„«»,:`-]{1,6})"
_FEW = rf"(?:(?!{_GAP})\S{{1,20}}{_GAP}){{0,4}}"


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """A kind of prompt injection: its exact pattern, and the cheap hint that triggers the pattern."""

    name: str
    hint: str
    pattern: re.Pattern[str]


def _rule(name: str, hint: str, *patterns: str) -> InjectionRule:
    """A space in a hint or pattern matches any separator of words in Markdown."""
    joined = "|".join(f"(?:{pattern.replace(' ', _GAP)})" for pattern in patterns)
    return InjectionRule(name, hint.replace(" ", _GAP), re.compile(joined, re.IGNORECASE))


_WHAT = r"(?:instructions?|prompts?|directions?|directives?|guidelines|commands?|orders|rules|context|training|programming|messages?|constraints)"
_WHICH = r"(?:previous|prior|above|earlier|preceding|foregoing|original|initial|existing|system|past|safety|your|developer)"

RULES = (
    _rule(
        "ignore-instructions",
        r"ignor|disregard|forget|overrid|bypass|(?:not|n['’]t|stop) follow|vergiss|missachte|oublie|olvid|esqueç|dimentica|negeer|vergeet|zapomnij|забудь|忽略|忽视|無視|无视|忘记|忘掉|(?:指示|命令|プロンプト|指令)を|(?:지시|명령|지침|프롬프트)|(?:talimat|komut|yönerge)lar|تجاهل|(?:निर्देशों|आदेशों)|bỏ qua|abaikan|игнорир",
        rf"\b(?:ignore|disregard|forget|override|bypass|(?:do not|don['’]t|stop) follow(?:ing)?) (?:(?:all|any|every|each|of|the|these|those|my|your|and|everything|completely|about) ){{0,4}}{_WHICH} (?:(?:and|or|the|system|safety|previous|prior|above|other) ){{0,3}}{_WHAT}\b",
        rf"\b(?:ignore|disregard|forget) (?:(?:all|any|the|of) ){{0,2}}{_WHAT} (?:(?:that|which|you|were|was|have|been|are|given|written|provided|stated|i) ){{0,5}}(?:above|before|previously|earlier|so far|until now|given to you)\b",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what(?:ever)?) (?:(?:that|you|i|were|was|have|has|been|ve|is) ){0,4}(?:above|(?:told|said|instructed|learned|written|know|knew)(?: (?:before|above|previously|earlier|so far|until now|about))?(?= |[.!])|before this)",
        r"\b(?:ignorier(?:e|en sie|t)?|vergiss|missachte) (?:bitte )?(?:alle |sämtliche )?(?:die |deine |ihre |der )?(?:vorherigen|vorigen|bisherigen|obigen|früheren|vorangegangenen) (?:anweisungen|instruktionen|befehle|anleitungen|prompts?|vorgaben)",
        r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)) (?:toutes )?(?:les |tes |vos |l['’])?(?:instructions?|consignes?|directives) (?:précédentes?|antérieures?|ci-dessus|données)",
        r"\b(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en)) (?:por favor )?(?:todas )?(?:las |tus |sus )?(?:instrucciones|indicaciones|órdenes) (?:anteriores|previas|de arriba)",
        r"\b(?:ignor(?:e|a|em)|esqueç(?:a|am)) (?:todas )?(?:as |suas )?(?:instruções|ordens|orientações) (?:anteriores|prévias|acima)",
        r"\b(?:ignora(?:te)?|dimentica(?:te)?) (?:tutte )?(?:le |tue )?(?:istruzioni|indicazioni) (?:precedenti|sopra|di cui sopra)",
        r"\b(?:negeer|vergeet) (?:alle )?(?:de |je |uw )?(?:vorige|eerdere|bovenstaande|voorgaande) (?:instructies|opdrachten|aanwijzingen)",
        r"\b(?:zignoruj|zapomnij) (?:wszystkie )?(?:poprzednie|wcześniejsze|powyższe) (?:instrukcje|polecenia)",
        r"(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?) (?:все |всё )?(?:предыдущие|прежние|предшествующие|вышеуказанные) (?:инструкции|указания|команды)",
        r"(?:忽略|忽视|无视|無視|忘记|忘掉)(?:掉)?(?:你)?(?:所有|全部|一切)?(?:之前|以前|以上|先前|上述|上面|前面|此前)(?:的)?(?:所有|全部|任何|一切)?(?:系统)?(?:指令|指示|提示词?|命令|说明|要求)",
        r"(?:以前|これまで|上記|前|先|今まで)の(?:すべての|全ての|全)?(?:指示|命令|プロンプト|指令)を?(?:すべて|全て|全部)?(?:無視|忘れ)",
        r"(?:이전|위|앞)(?:의)? ?(?:모든 )?(?:지시|명령|지침|프롬프트)(?:사항)?(?:을|를|들을)? (?:모두 )?(?:무시|잊)",
        r"(?:önceki|yukarıdaki) (?:tüm )?(?:talimatları|komutları|yönergeleri) (?:yok say|görmezden gel|unut)",
        r"تجاهل (?:جميع |كل )?(?:التعليمات|الأوامر|الإرشادات) السابقة",
        r"(?:पिछले|पूर्व|ऊपर के) (?:सभी )?(?:निर्देशों|आदेशों) को (?:अनदेखा|नज़रअंदाज़)",
        r"bỏ qua (?:tất cả )?(?:các )?(?:hướng dẫn|chỉ dẫn|lệnh) (?:trước|ở trên)",
        r"\babaikan (?:semua )?(?:instruksi|perintah|arahan) (?:sebelumnya|di atas)",
    ),
    _rule(
        "role-marker",
        r"<\\?\||\[/?inst|<\\?<\\?sys|_turn\\?>|</?(?:system|developer)|(?:^|\n)[#>*\s]{0,6}(?:system|assistant|developer|instruction)",
        r"\\?<\\?\|(?:im\\?_(?:start|end)|system|user|assistant|start\\?_header\\?_id|end\\?_header\\?_id|eot\\?_id)\\?\|\\?>",
        r"\\?\[/?INST\\?\]|\\?<\\?<SYS\\?>\\?>|\\?<(?:start|end)\\?_of\\?_turn\\?>",
        r"(?:^|\n)[#>*\s]{0,6}(?:system|assistant|developer)(?: (?:prompt|message|instructions?|override))?[*\]]{0,3}[\x20\t]?:[*]{0,2} (?:you (?:are|must|should|will|have)|your (?:task|role|job|new)|ignore|disregard|from now on|act as|pretend|do not)\b",
        r"\\?</?(?:system|developer)[-\\_]{1,2}(?:prompt|message|instructions?|override|reminder)\\?>",
        r"\\?<system\\?>\s{0,4}(?:you |your |ignore|from now on|important)",
        r"(?:^|\n)#{2,4} (?:instruction|system)s?:?[\x20\t]?\n\s{0,4}(?:you (?:are|must|will)|ignore|disregard|from now on|act as|pretend)\b",
    ),
    _rule(
        "system-prompt",
        r"(?:system|initial|hidden|original|secret|internal|prior|previous|developer) (?:prompt|message|instruction)|pre-?prompt|(?:text|words|everything|instructions) above",
        rf"\b(?:reveal|print|show|output|repeat|display|leak|disclose|dump|recite|expose|share|tell me|give me|write (?:out|down)|what (?:is|are|was|were)) (?:me |us )?(?:verbatim )?(?:your|the model['’]s) {_FEW}(?:system prompts?|system messages?|system instructions?|(?:initial|hidden|original|secret|internal|prior|previous) (?:instructions?|prompts?)|developer messages?|pre-?prompt)\b",
        r"\b(?:reveal|leak|disclose|dump|recite|output|repeat) (?:the )?(?:entire |full |whole |complete |exact )?(?:system prompt|hidden instructions|initial prompt|developer message)\b",
        r"\brepeat (?:back )?(?:everything|all (?:of )?(?:the )?(?:text|words)|the (?:words|text|instructions)) above\b",
    ),
    _rule(
        "new-role",
        r"you(?: are|['’]re) now|from now on|(?:developer|god|jailbreak|dan) mode|do anything now|unrestricted|unfiltered|uncensored|jailbroken|amoral|evil (?:ai|assistant|chatbot|model|llm|version|bot|twin)",
        r"\byou(?: are|['’]re) now (?:(?:a|an|the|in|operating|acting|as|my|playing|called|known) ){0,4}(?:(?!the |a )[\w-]{2,20} ){0,2}(?:ai\b|assistant\b(?! (?:manager|professor|coach|director|to\b))|chatbot|llm\b|language model|dan\b|jailbroken|unrestricted|uncensored|developer mode|debug mode|god mode|admin mode)",
        r"\bfrom now on,? you (?:will|must|shall|should|are (?:to|going to)) (?:(?:only|always|never|not|also) ){0,2}(?:respond|answer|act|reply|output|obey|speak|behave|follow|ignore|comply|pretend|refer)\b",
        r"\b(?:enter|enable|activate|switch (?:in)?to|you are in) (?:the )?(?:developer|god|jailbreak|dan|unrestricted|unfiltered) mode\b(?=[^\n]{0,60}\b(?:you|ignore|respond|answer|ai|model|assistant|chatgpt|gpt|claude|without)\b)",
        r"\bdo anything now\b(?=[^\n]{0,80}\b(?:dan|ai|gpt|chatgpt|prompt|jailbreak|you)\b)",
        r"\b(?:act as|pretend (?:to be|that you are|you are|you['’]re)|role-?play as|you are|simulate) (?:a|an|the|my) (?:[\w-]{2,20} ){0,3}(?:unrestricted|unfiltered|uncensored|jailbroken|amoral|evil) (?:[\w-]{2,20} ){0,2}(?:ai|assistant|chatbot|model|llm|version|bot)\b",
    ),
    _rule(
        "addressed-to-machine",
        r"if you(?: are|['’]re) (?:an? |any )?(?:ai|a\.i|llm|large lang|lang|chat|auto|gpt|claude|gemini|copilot)|(?:attention|note|notice|message|instructions?|important|warning|directive|request)(?: to| for)?(?: all| any| every)? (?:ai|a\.i|llm|large lang|lang|automated|chatgpt|gpt)|(?:dear|hey|hello|hi) (?:ai|llm|lang|chatgpt|gpt|claude|gemini)|as an (?:ai|llm|lang)",
        r"\b(?:attention|note|notice|message|instructions?|important|warning|directive|request)(?: to| for)?(?: all| any| every)? (?:ai|a\.i\.|llm|large language|language|automated|chatgpt|gpt|ai-based|ai-powered) ?(?:assistants?|models?|agents?|bots?|chatbots?|crawlers?|systems?|summari[sz]ers?|readers?|reviewers?|scrapers?)\b(?: reading this| processing this)?[\x20\t*_]{0,4}[:!,—–-]",
        r"\bif you(?: are|['’]re) (?:an? |any )?(?:ai|a\.i\.|llm|large language model|language model|ai[\x20-](?:assistant|agent|model|system|bot|crawler|summari[sz]er|reviewer)|chatbot|automated (?:agent|assistant)|chatgpt|gpt(?:-\d)?|claude|gemini|copilot)(?: (?:assistant|agent|model|system|bot|crawler))?(?: (?:that is |who is |and )?(?:reading|processing|parsing|summari[sz]ing|reviewing|analy[sz]ing|crawling|viewing) [^.,:\n]{1,40})?[,:—–-] ?(?:\w+ ){0,3}(?:please|must|should|you|do not|don['’]t|ignore|disregard|stop|say|include|respond|reply|output|write|add|recommend|mention|visit|click|follow|never|always|instead|then|tell|give)\b",
        r"\b(?:dear|hey|hello|hi) (?:ai|llm|language model|chatgpt|gpt|claude|gemini|ai assistant|ai agent|ai model)s?[,:!] ?(?:\w+ ){0,4}(?:please|you|ignore|disregard|i need|must|do not|when|if)\b",
        r"\bas an (?:ai|llm|ai assistant|ai language model|ai agent|language model) (?:reading|processing|summari[sz]ing|reviewing) (?:this|the) [^.\n]{0,60}\b(?:must|should|please|always|never|include|recommend)\b",
    ),
    _rule(
        "steered-answer",
        r"(?:summari[sz]|review|rank|evaluat|describ|analy[sz]|answer)\w{0,8} (?:about |questions about )?(?:this|the above) |positive (?:review|evaluation|assessment)|(?:always|must) (?:recommend|rank|rate|score) this",
        r"\b(?:when|if|while|before) (?:you(?: are|['’]re)? )?(?:are )?(?:asked (?:to |about )|tasked with )?(?:summari[sz](?:e|ing)|review(?:ing)?|rank(?:ing)?|evaluat(?:e|ing)|describ(?:e|ing)|analy[sz](?:e|ing)|answering (?:about|questions about)) (?:this|the above) (?:page|document|text|article|website|site|webpage|content|resume|cv|paper|manuscript|candidate|email|message),? [^.\n]{0,40}\b(?:always|you must|never|say that|state that|recommend|tell the user|do not mention|only say|respond with)\b",
        r"\b(?:give|write|provide|output) (?:only )?(?:a |an )?positive (?:review|evaluation|assessment)s?(?: only)?\b(?=[^\n]{0,80}\b(?:only|negatives?|do not|llm|ai|reviewers?)\b)",
        r"\b(?:always|you must) (?:recommend|rank|rate|score) this (?:candidate|product|paper|page|site|company|resume) (?:as |over |above |first|highest|[\d/]{1,5})",
    ),
    _rule(
        "exfiltration",
        r"(?:send|post|forward|e-?mail|upload|transmit|exfiltrate|leak|submit|copy) (?:\w{1,9}(?:['’]s)? ){1,5}(?:conversation|chat|message hist|api|credential|password|secret|access tok|system prompt|user data|private|personal|environment var|ssh|session c|memory|contents of)|=(?:\\?[{\[<]|%7B|%5B|%3C)|exfiltrate",
        r"\b(?:send|post|forward|e-?mail|upload|transmit|exfiltrate|leak|submit|copy) (?:(?:me|us|all|any|the|your|their|this|every|of|user['’]?s?|entire|full|current|whole|complete) ){1,5}(?:conversations?|chat (?:history|logs?)|message history|api[\x20-]?keys?|credentials|passwords?|secrets|access tokens?|system prompts?|user data|private data|personal data|environment variables|ssh keys?|session cookies|memory|contents of (?:this|the) (?:conversation|chat|inbox))[^.\n]{0,60}?\bto (?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.|this (?:url|address|server|endpoint|e-?mail)|the following (?:url|address|server|endpoint|e-?mail)|attacker|my (?:server|e-?mail))",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&][\w-]{1,30}=(?:\\?[{\[<]|%7B|%5B|%3C){1,2}[^)\s]{0,30}(?:data|secret|conversation|history|prompt|chat|message|api|token|memory|summary|user|input|query)",
        r"\bexfiltrate (?:the |all |any |your )?(?:user|conversation|chat|data|secrets|credentials)[^.\n]{0,80}\b(?:by|via|to|through) (?:https?://|append|encod|render|an? (?:image|url|link)|the (?:url|image|link))",
    ),
    _rule(
        "tool-call",
        r"tool\\?_(?:call|use|code)|function\\?_call|invoke name|to=functions|python\\?_tag",
        r"\\?<\\?/?(?:\w{1,20}:)?(?:tool\\?_calls?|function\\?_calls?|tool\\?_use|tool\\?_code)\b[^\n>]{0,80}\\?>",
        r"\\?<(?:\w{1,20}:)?invoke name=",
        r"\\?<\\?\|(?:tool\\?_calls?|python\\?_tag|tool\\?_calls?\\?_begin)\\?\|\\?>",
        r"\bto=functions\.\w",
    ),
    _rule(
        "kept-from-user",
        r"(?:tell|telling|let|letting) the (?:user|human)|(?:not|n['’]t|never) (?:mention|reveal|disclose|acknowledge|repeat|discuss|show) (?:any|of|this|that|these|those|the|your)|(?:hidden|secret|invisible|confidential) instruction",
        r"\b(?:do not|don['’]t|never|without) (?:ever )?(?:tell(?:ing)?|let(?:ting)?) the (?:user|human)s? (?:know )?(?:about |that |of )?(?:this|these|you (?:were|are|have|received)|your instructions|the instructions|any of this)\b",
        r"\b(?:do not|don['’]t|never) (?:mention|reveal|disclose|acknowledge|repeat|discuss|show) (?:(?:any|of|this|that|these|those|the|your|hidden|secret|existence) ){1,5}(?:instructions?|prompt|message|directive)s?(?:,? (?:to|with|in) (?:the |your |any )?(?:users?|humans?|anyone|response|reply|answer|output))",
        r"\b(?:hidden|secret|invisible|confidential) instructions? (?:to|for) (?:the |any |all )?(?:ai|llm|assistants?|models?|agents?|language models?|chatbots?)\b",
    ),
)  # fmt: skip
"""A text gets at most one flag of each rule."""

_CONTEXT_BEFORE, _CONTEXT_AFTER = 160, 500
_MAX_EVIDENCE_CHARS = 200
_MAX_HINTS = 500  # bounds the cost of a text that consists of hints
MAX_HINT_CHARS = 120
"""A hint is shorter."""

_SCAN_BYTES = (
    32 << 20
)  # with the default of 8 MiB, ordinary pages exceed the automaton's memory, which costs four times the time


def _scan_pattern(hints: Iterable[str]) -> re2._Regexp[bytes]:
    options = re2.Options()
    options.max_mem = _SCAN_BYTES
    return re2.compile(f"(?i)(?:{'|'.join(hints)})".encode(), options)


_ANY_HINT = _scan_pattern(rule.hint for rule in RULES)
_HINT_OF_RULE = tuple((rule, re.compile(rule.hint, re.IGNORECASE)) for rule in RULES)


def hint_starts(text: str) -> Iterator[int]:
    """The offsets at which hints start. Text without one has no flags."""
    data = text.encode("utf-8", "replace")
    at = at_byte = 0
    for hint in _ANY_HINT.finditer(data):
        at += len(data[at_byte : hint.start()].decode())
        at_byte = hint.start()
        yield at


def find_flags(text: CleanText) -> tuple[Flag, ...]:
    """Find text that reads like instructions to a model: one flag for each rule, with its first match, in order of the text."""
    flags: dict[str, Flag] = {}
    for at in islice(hint_starts(text), _MAX_HINTS):
        for rule, rule_hint in _HINT_OF_RULE:
            if rule.name in flags or (rule_match := rule_hint.match(text, at)) is None:
                continue
            match = rule.pattern.search(text, max(0, at - _CONTEXT_BEFORE), rule_match.end() + _CONTEXT_AFTER)
            if match is not None:
                start = match.end() - len(match[0].lstrip())
                flags[rule.name] = Flag(rule.name, piece_of(text, start, min(match.end(), start + _MAX_EVIDENCE_CHARS)))
    return tuple(flags.values())
