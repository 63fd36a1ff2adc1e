"""Words that tell dates, times and counters, in the languages that much of the web is written in. Patterns in lower case."""

from __future__ import annotations

MONTHS = (
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember okt dez mär janvier février mars "
    "avril juin juillet août septembre octobre novembre décembre janv févr avr juil déc enero febrero marzo abril "
    "mayo junio julio agosto septiembre octubre noviembre diciembre ene dic gennaio febbraio aprile maggio giugno "
    "luglio settembre ottobre dicembre gen mag giu lug ago set ott janeiro fevereiro março junho julho setembro "
    "outubro novembro dezembro januari februari maart mei augustus stycznia lutego marca kwietnia maja czerwca "
    "lipca sierpnia września października listopada grudnia января февраля марта апреля мая июня июля августа "
    "сентября октября ноября декабря"
)

DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun montag "
    "dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi "
    "dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato "
    "domenica maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
)

COUNTED = (
    "views? pageviews? likes? comments? shares? reads? readers? visitors? visits? hits? downloads? followers? "
    "subscribers? upvotes? downvotes? votes? repl(?:y|ies) answers? reactions? claps? watchers? reviews? ratings? "
    "clicks? plays? impressions? retweets? results? bookmarks? installs? favou?rites? aufrufe? kommentare? besucher "
    "leser antworten bewertungen downloads gefällt vues? commentaires? partages? lectures? visiteurs? abonnés? avis "
    "réponses? vistas? visitas? comentarios? lecturas? seguidores visualizzazioni commenti visite recensioni "
    "visualizações comentários avaliações reacties weergaven lezers просмотр просмотра просмотров комментарий "
    "комментария комментариев отзыв отзыва отзывов"
)

SINCE = (
    r"just now|a moment ago|moments ago|\d+\s?(?:s|m|min|h|d|w|mo|y)\s+ago",
    r"(?:an?|one|a few|few|several|\d+)\s+(?:second|sec|minute|min|hour|hr|day|week|month|year)s?\s+ago",
    r"vor\s+(?:\d+|eine[rm]|wenigen|ein paar)\s+(?:sekunde|minute|stunde|tag|woche|monat|jahr)(?:e?n)?",
    r"il y a\s+(?:\d+|une?|quelques)\s+(?:seconde|minute|heure|jour|semaine|mois|an)s?",
    r"hace\s+(?:\d+|una?|unos)\s+(?:segundo|minuto|hora|d[ií]a|semana|mes|año)(?:e?s)?",
    r"há\s+(?:\d+|uma?)\s+(?:segundo|minuto|hora|dia|semana|m[eê]s|ano)(?:e?s)?",
    r"\d+\s+(?:second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi])\s+fa",
    r"\d+\s+(?:seconden|minu(?:ut|ten)|uur|dag(?:en)?|we(?:ek|ken)|maand(?:en)?|jaar)\s+geleden",
    r"\d+\s+\w{2,12}\s+назад|\d+\s?(?:秒|分|分钟|分鐘|時間|小时|小時|日|天|か月|个月|年)前",
)
"""How long ago, as sites say it."""

RELATED = (
    r"related|you (?:may|might) also|recommended|read (?:more|next|also)|see also|trending|what others|customers also",
    r"more (?:from|stories|articles|posts|news|like)|(?:most )?(?:popular|read|viewed)\b|people also|keep reading",
    r"latest (?:posts|articles|news|stories)|recent (?:posts|articles|comments)|similar (?:posts|articles|products|items)",
    r"ähnliche|verwandte|das könnte|mehr zum thema|auch interessant|meistgelesen|articles? (?:liés|similaires)|à lire aussi",
    r"sur le même|relacionad|también te|te puede interesar|más leíd|correlat|potrebbe(?:ro)? interessarti|leggi anche",
    r"leia também|gerelateerd|lees ook|関連|おすすめ|相关|推荐|похожие|читайте также",
)
"""What stands above a box of links to other pages."""

STAMPS = (
    "a and at by date from generated in last modified now of on online page posted published server time total updated "
    "am den le um uhr von zuletzt aktualisiert publié mis à jour el actualizado"
)
"""What stands around a date or a counter without saying anything."""
