"""The words by which `shell` knows mounting points, placeholders and scripts.

Matched by re2: pages without text are often megabytes of script, and some are made to be slow to match.
"""

from __future__ import annotations

import re2

MOUNTS = frozenset({
    "root", "app", "__next", "__nuxt", "__layout", "__sveltekit", "svelte", "sapper", "___gatsby",
    "gatsby-focus-wrapper", "__docusaurus", "__redwood", "redwood-app", "react-root", "reactroot", "react-app",
    "reactapp", "react-target", "react-container", "app-root", "approot", "app-container", "appcontainer",
    "app-mount", "app-main", "app-shell", "app-wrapper", "application", "main-app", "mainapp", "my-app", "vue-app",
    "vueapp", "vue-root", "ember-app", "ember-root", "elm", "elm-app", "elm-root", "mount", "mount-point",
    "mountpoint", "mount-node", "main-root", "page-root", "client-root", "content-root", "q-app", "spa", "spa-root",
    "ng-app", "ng-view", "ng-root", "router-outlet", "router-view", "root-container", "web-app", "webapp",
    "flutter-view", "solid-root", "preact-root", "qwik-root",
})  # fmt: skip
"""Ids and element names that frameworks and their tutorials give to the place where the page goes."""

NO_MOUNTS = re2.compile(
    r"\bfb-root|disqus|captcha|cookie|consent|gdpr|onetrust|modal|dialog|popup|overlay|toast|snackbar|tooltip|portal|lightbox"
    r"|\bads?\b|adslot|ad-|-ad\b|advert|banner|google_|gtm|translate|chat|intercom|zendesk|livechat|share|social|addthis|hotjar"
    r"|tracking|pixel|analytics|backdrop|clear(?:fix)?\b|spacer|separator|divider|progress-?bar|back-?to-?top|scroll-?top|loader"
    r"|preload|mask|curtain|search-?(?:results|suggest)|autocomplete|mini-?cart|offcanvas|menu|nav|wpadminbar|sr-only|skip"
    r"|live-?region|announce|player|map\b|error|message|notice|status|debug|badge|anchor|\btop\b|\bbottom\b"
)
"""Elements that are empty on pages without any shell: widgets, advertisements, things that appear later or never."""

PLACEHOLDERS = re2.compile(
    r"(?i)\b(?:skeleton|shimmer|placeholder-(?:glow|wave|item)|content-placeholder|ghost-(?:card|line|item))"
)
SCROLLED = re2.compile(
    r"(?i)\b(?:infinite-?scroll|infinitescroll|scroll-?sentinel|sentinel|load-?more-?trigger|scroll-?trigger)\b"
)

WATCHES_SCROLLING = re2.compile(r"\bIntersectionObserver\b|\bonscroll\b|['\"]scroll['\"]")
FETCHES = re2.compile(r"\bfetch\(|\bXMLHttpRequest\b|\baxios\b|\$\.(?:get|ajax|getJSON)\b")
BOUND = re2.compile(
    r"(?i)<[a-z][^<>]*\s(?:(?:data-)?ng-(?:app|controller|bind|repeat|view|if)|v-(?:if|for|cloak|bind|text|html)|x-data|data-bind)"
    r"[\s=>]"
)
"""Elements that a framework fills in where they stand."""

LOADING = re2.compile(
    r"(?i)\b(?:loading|please wait|just a moment|one moment|initiali[sz]ing|starting up|fetching|laden|wird geladen|lädt"
    r"|bitte warten|chargement|veuillez patienter|cargando|espere|caricamento|attendere|carregando|aguarde|загрузка|подождите"
    r"|ładowanie|načítání|laster|indlæser|ladataan|yükleniyor)\b|^\s*(?:\.{3}|…)\s*$|読み込み中|加载中|載入中|로딩"
)

ASKS_FOR_SCRIPTS = re2.compile(
    r"(?i)(?:enable|activate|allow|turn on|switch on|need|requires?|without|must have|doesn.t work|does not work|work properly|"
    r"is disabled|disabled|habilit\w+|activer|activ[ae]\w*|aktiv\w+|einschalten|benötigt|erforderlich|ativ[ae]\w*|włącz\w*|"
    r"включит\w*|povol\w*|schakel|inschakelen|aktivér|有効|启用|啟用)"
    r"[^.!?<]{0,60}java ?script|java ?script[^.!?<]{0,60}(?:enable|activ|required|needed|disabled|turned off|not supported|"
    r"habilit|aktiv|erforderlich|benötigt|requis|necesari|richiesto|wymagan|有効|启用|啟用|必要)"
)

FRAMEWORKS = re2.compile(
    r"(?i)\breact(?:-dom|dom)?\b|\bpreact\b|\bvue(?:-router)?\b|\bnuxt\b|\bangular(?:js)?\b|\bsvelte(?:kit)?\b|\bember\b|\bsolid-js\b"
    r"|\bbackbone\b|\balpinejs\b|\bknockout\b|\blit-(?:element|html)\b|\bstencil\b|\bpolymer\b|\bhydrateRoot\b|\bcreateRoot\b"
    r"|\bcreateApp\b|\bcustomElements\.define\b|\battachShadow\b|__NEXT_DATA__|__NUXT__|__INITIAL_STATE__|__APOLLO_STATE__"
    r"|\bwebpack(?:Jsonp|Chunk)\w*|\b__vite\w*|\bhistory\.pushState\b|\bIntersectionObserver\b|\bflutter\b|\binnerHTML\b"
    r"|\b(?:append|replaceChildren|appendChild|insertAdjacentHTML)\(|\blocation\.(?:href|replace|assign)\b"
)

BUNDLES = re2.compile(
    r"(?i)(?:^|/)(?:main|app|index|bundle|client|runtime|vendors?|chunk|entry|start|polyfills|build|spa|router|script|site)"
    r"(?:[.~_-][\w.~-]{0,60})?\.m?js(?:[?#]|$)|/_next/static/|/_nuxt/|/_app/immutable/|/static/js/|/assets/[\w.-]+\.js"
)

FOREIGN_SCRIPTS = re2.compile(
    r"(?i)googletagmanager|google-analytics|googlesyndication|gtag\(|\bga\(|_gaq|doubleclick|adsbygoogle|facebook\.net|fbq\("
    r"|hotjar|clarity\.ms|cloudflareinsights|plausible|matomo|piwik|_paq|recaptcha|hcaptcha|turnstile|jquery|bootstrap|modernizr"
    r"|wp-emoji|wp-includes|polyfill\.io|segment\.(?:com|io)|mixpanel|newrelic|nr-data|sentry|datadog|optimizely|hubspot|hs-scripts"
    r"|intercom|zendesk|zdassets|tawk\.to|addthis|sharethis|disqus|cookiebot|onetrust|cookielaw|trustarc|quantserve|scorecardresearch"
    r"|chartbeat|amazon-adsystem|criteo|taboola|outbrain|bing\.com|linkedin|twitter\.com/widgets|platform\.twitter|pinterest|tiktok"
    r"|yandex|mc\.yandex|typekit|fontawesome|fonts\.g|lazysizes|/swiper|slick|livereload|email-decode|documentElement\.class(?:Name|List)"
)
