# ruff: noqa: RUF001 - Cyrillic letters that look like Latin ones are meant
"""Stemmers (Snowball) and stop words of each language that search supports."""

from __future__ import annotations

import re
from functools import cache

import Stemmer

MAIN_LANGUAGE = "en"
"""The language of Latin text on pages that declare none."""

_LATIN = {
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "sv": "swedish",
    "tr": "turkish",
}
_OTHERS = {
    "ar": "arabic",
    "el": "greek",
    "fa": "persian",
    "hi": "hindi",
    "hy": "armenian",
    "ne": "nepali",
    "ru": "russian",
    "sr": "serbian",
    "ta": "tamil",
    "yi": "yiddish",
}
_SCRIPTS = (
    (re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"), MAIN_LANGUAGE, frozenset(_LATIN) | {"sr"}),
    (re.compile("[\u0400-\u052f]"), "ru", frozenset({"ru", "sr"})),
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "el", frozenset({"el"})),
    (re.compile("[\u0600-\u06ff\u0750-\u077f]"), "ar", frozenset({"ar", "fa"})),
    (re.compile("[\u0900-\u097f]"), "hi", frozenset({"hi", "ne"})),
    (re.compile("[\u0530-\u058f]"), "hy", frozenset({"hy"})),
    (re.compile("[\u0b80-\u0bff]"), "ta", frozenset({"ta"})),
    (re.compile("[\u0590-\u05ff]"), "", frozenset({"yi"})),
)
_UNSTEMMED = {
    0: frozenset({"az", "bs", "hr", "is", "lv", "ms", "mt", "sk", "sl", "sq", "sw", "uz", "vi"}),
    1: frozenset({"be", "bg", "kk", "ky", "mk", "mn", "tg", "uk"}),
    3: frozenset({"ku", "ps", "sd", "ug", "ur"}),
    4: frozenset({"mr", "sa"}),
}
"""Languages without a stemmer by index in `_SCRIPTS`, whose words the stemmer of another language would spoil."""


def language_of(tag: str) -> str:
    """The primary language of a tag such as `en-US` or `DE_at`."""
    return re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]


def stem(word: str, language: str) -> str:
    """Stem a case-folded word by the language of its page, or by the main language of its script if the page's has another."""
    if word.isascii() and not word[:1].isalpha():
        return word
    for index, (letters, main, languages) in enumerate(_SCRIPTS):
        if letters.match(word):
            if language not in languages:
                if language in _UNSTEMMED.get(index, ()) or not main:
                    return word
                language = main
            stemmed: str = _stemmer(language).stemWord(word)
            return stemmed
    return word


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    """The stemmer of a language, without a cache: `terms` has one. Threads may share it, since it stems under the GIL."""
    return Stemmer.Stemmer(_LATIN.get(language) or _OTHERS[language], 0)


_STOP_WORD_LISTS = {
    "en": """
        a about above after again against all am an and any are as at be because been before being below between both
        but by can cannot could did do does doing down during each few for from further get had has have having he her
        here hers him his how i if in into is it its itself just let me more most my no nor not now of off on once
        only or other our out over own same she should so some such than that the their them then there these they
        this those through to too under until up us very was we were what when where which while who whom why will
        with would you your yours
    """,
    "de": """
        aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des dich die
        dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas
        euch für gegen hab habe haben hat hatte hier hin ich ihm ihn ihnen ihr ihre im in ins ist ja jede jeder jedes
        kann kein keine können man mein mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein seine sich
        sie sind so soll über um und uns unser unter vom von vor wann war waren warum was welche welcher welches wenn
        wer werden wie wieder will wir wird wo zu zum zur zwischen
    """,
    "fr": """
        à ai au aucun aussi autre aux avec avoir c'est ce ces cet cette ceux chaque comme comment dans de des du elle
        elles en est et été être eu fait il ils je j'ai la le les leur leurs lors lui ma mais me même mes moi mon ne
        ni non nos notre nous on ont ou où par pas peut plus pour pourquoi qu'est quand que quel quelle quelles quels
        qui sa sans se ses si son sont sur ta te tes toi ton tous tout toute toutes tu un une vos votre vous y
    """,
    "es": """
        a al algo ante antes así aunque cada como cómo con cual cuál cuando cuándo de del desde donde dónde dos e el
        él ella ellas ellos en entre era es esa ese eso esta está este esto estos fue ha hacer hasta hay la las le les
        lo los más me mi mis muy ni no nos nosotros nuestro o otra otro para pero por porque puede que qué quien quién
        se ser si sí sin sobre son su sus también te tiene todo todos tu tus un una uno unos y ya yo
    """,
    "it": """
        a ad agli ai al alla alle allo anche che chi ci come con cosa cui da dai dal dalla dalle dei del della delle
        dello di dove e è ed era essere gli ha hanno ho i il in io l'è la le lei lo loro lui ma me mi mio ne negli nei
        nel nella nelle no noi non nostro o ogni per perché però più può qual quale quando quanto quella quello questa
        questo qui se sei si sia sono su sua sue sui sul sulla suo te ti tra tu tutti tutto un una uno vi voi
    """,
    "pt": """
        a ao aos as até com como cada da das de dela dele depois do dos e é ela elas ele eles em entre era essa esse
        esta está este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o onde
        os ou para pela pelas pelo pelos por porque pode qual quando que quem são se sem ser seu seus só sua suas
        também te tem um uma você
    """,
    "nl": """
        aan al alle als altijd bij dan dat de der deze die dit doen door dus een en er ge geen had heb hebben heeft
        hem het hier hij hoe hun ik in is je kan kunnen maar me meer men met mij mijn naar niet nog nu of om omdat ons
        onze ook op over te tegen toch toen tot u uit van veel voor waar waarom wanneer was wat we welke wel werd wie
        wij wil worden wordt zal ze zich zij zijn zo zonder zou
    """,
    "sv": """
        alla allt att av blir de dem den denna det detta dig din du där då efter ej eller en er ett finns från för
        genom ha han har hon honom hur här i icke in inte jag kan man med mellan men mig min mot mycket ni nu när
        någon något och om oss på sig sin ska som så till under upp ut utan vad var varför vem vid vilka vilken vilket
        vi är över
    """,
    "pl": """
        a aby ale bez być był była było czy dla do gdy gdzie go i ich ile im ja jak jaka jaki jakie jako jest jeśli
        już kiedy kto która które który lub ma mi może można my na nad nie o od on ona one oni oraz po pod przed przez
        przy się są ta tak także tam te tego tej ten to tu tylko ty w we więc wy z za ze że
    """,
    "ru": """
        а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же
        за и из или им их к как какая какие какой ко когда кто ли либо между мне может мы на над надо не него нее нет
        ни них но о об он она они оно от по под почему при с свой со так также такой там то того тоже только ты у уже
        чем что чтобы эта эти это этого этот я
    """,
}

STOP_WORDS = {language: frozenset(text.split()) for language, text in _STOP_WORD_LISTS.items()}
"""Words that say little about the topic of a query, by language, in lower case.

They are indexed like all others, so a query that consists of them finds something; in other queries they weigh less.
"""
