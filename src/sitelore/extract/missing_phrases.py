"""How pages say "there is nothing here", language by language. Patterns in google-re2 syntax, matched without case."""
# ruff: noqa: RUF001 - words of many languages are in their own letters

PHRASES = (
    # English
    r"(?:page|file|document|content|article|resource|url|product|post) (?:(?:was|is|has been|may have been) )?(?:missing|gone)",
    r"(?:page|file|document|content|article|resource|url|product|post) (?:(?:was|has been|may have been) )?(?:removed|deleted)",
    r"(?:page|file|document|content|article|resource|url|product|post) (?:is )?(?:unavailable|not available)",
    r"(?:(?:could|ca)n['’]t|cannot|(?:could|can) not) (?:be (?:found|located)|find|locate)",
    r"(?:does not|doesn['’]t|no longer) exists?|no longer available",
    r"not found|nothing (?:was )?found|unable to (?:find|locate)",
    # German
    r"nicht gefunden|(?:existiert|gibt es) (?:leider )?nicht(?: mehr)?|nicht (?:mehr )?(?:verfügbar|vorhanden)",
    # French
    r"page (?:non trouvée|inexistante)|introuvable|n['’]existe (?:pas|plus)|n['’]a pas été trouvée?",
    # Spanish
    r"página no (?:encontrada|disponible)|no (?:se )?(?:ha |pudo ser )?(?:encontrad[ao]|encontró|encuentra)|no existe",
    # Italian
    r"pagina non (?:trovata|disponibile)|non (?:è stata )?trovat[ao]|non esiste",
    # Portuguese
    r"página não (?:encontrada|disponível)|não (?:foi )?encontrad[ao]|não existe",
    # Dutch
    r"niet gevonden|bestaat niet(?: meer)?|pagina (?:is )?niet beschikbaar",
    # Polish
    r"nie znaleziono(?: strony)?|nie została znaleziona|nie istnieje",
    # Swedish, Norwegian, Danish, Finnish
    r"hittades inte|kunde inte hittas|sidan finns inte|ikke (?:funnet|fundet)|findes ikke|sivua ei löyt\w+|ei löytynyt",
    # Czech, Slovak, Hungarian, Romanian
    r"nebyla nalezena|nenalezen[ao]?|neexistuje|nebola nájdená|nem található|nu (?:a fost găsit[ăa]|există)",
    # Turkish, Greek
    r"bulunamadı|δεν (?:βρέθηκε|υπάρχει)",
    # Ukrainian, Russian
    r"не знайдено|не найден[ао]?|не существует",
    # Japanese
    r"見つかりません(?:でした)?|お探しのページ|存在しません|ページがありません",
    # Chinese
    r"(?:页面|頁面|网页|網頁)(?:不存在|已(?:被)?(?:删除|刪除))|找不到(?:该|您|此)?(?:页面|頁面|网页|網頁)?|未找到|没有找到|不存在",
    # Korean
    r"찾을 수 없(?:습니다|음)|존재하지 않",
    # Arabic, Hebrew, Vietnamese, Indonesian, Thai
    r"غير موجودة?|לא נמצא|không tìm thấy(?: trang)?|tidak ditemukan|ไม่พบหน้า",
)
"""Each says on its own that something is missing."""

FILLER = (
    r"\b(?:error|oops|sorry|uh[- ]?oh|whoops|http|status|code|the|this|that|your|you|we|is|was|be|it|requested|page)\b",
    r"\b(?:fehler|seite|die|leider|wurde|erreur|cette|la|le|errore|pagina|página|erro|fout|błąd|strona|strony|fel|sidan|feil)\b",
    r"\b(?:siden|chyba|stránka|hata|sayfa|oldal|halaman|trang|ошибка|страница|сторінку|40[34]|410)\b",
    r"エラー|ページ|が|错误|錯誤|页面|頁面|페이지를|الصفحة|הדף",
)
"""What error pages say around it: a headline of these and a phrase says nothing else."""
