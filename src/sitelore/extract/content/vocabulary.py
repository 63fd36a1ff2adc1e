"""The vocabulary of the block scorer: tag numbers, words in class names and ids, words of labels, names of features.

The compiled scorer (`native/scoring`) gets these tables once per process (`block_scorer`); the trained model depends on their
order, so a change here needs a new training (`make train-content`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

INLINE = frozenset(
    b"a abbr acronym area b bdi bdo big blink br cite code data del dfn em font i img input ins kbd label mark math mfrac mi "
    b"mn mo mrow msqrt msub msup mtext nobr picture q rb rp rt rtc ruby s samp semantics small source span strike strong sub "
    b"sup time track tt u var wbr _md".split()
)
VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
TAGS = tuple(
    b"div p li ul ol h1 h2 h3 h4 h5 h6 td th tr table dl dt dd pre blockquote figure figcaption article section main aside nav "
    b"header footer form fieldset details summary a img b strong em code span body address tbody thead caption hr br label "
    b"time".split()
)
TAG_NUMBER = {tag: number + 1 for number, tag in enumerate(TAGS)}

# Words that web pages use in class names, ids and roles. Each group is one bit of an element's marks.
_GROUPS = {
    "nav": "nav navbar navigation menu submenu megamenu topbar toolbar tabs tab breadcrumb breadcrumbs crumb",
    "head": "header masthead banner top",
    "foot": "footer bottom copyright legal colophon",
    "side": "sidebar aside rail secondary side widget widgets",
    "comment": "comment comments disqus reply replies respond discussion",
    "related": "related recommend recommended recommendation recommendations similar suggested suggestion also upsell "
    "crosssell more next trending popular latest recirc mostread read readmore recent",
    "share": "share sharing social socials follow addthis sharedaddy facebook twitter",
    "ad": "ad ads advert advertisement sponsor sponsored promo promotion outbrain taboola dfp adslot promoted",
    "modal": "modal popup overlay lightbox dialog drawer offcanvas tooltip dropdown flyout toast cookie "
    "cookies consent gdpr onetrust",
    "page": "pagination pager paging pages prev previous",
    "author": "author byline bio contributor avatar profile user",
    "meta": "meta date time timestamp published info credit credits views stats",
    "tags": "tag tags category categories topic topics labels keywords",
    "form": "newsletter subscribe signup subscription email optin form login signin search input register auth account",
    "cart": "cart basket checkout wishlist buy purchase add quantity shipping delivery sku",
    "review": "review reviews rating ratings stars star testimonial testimonials feedback",
    "filter": "filter filters facet facets sort sorting refine refinement swatch variant variants option options selector",
    "carousel": "carousel slider slideshow swiper slick gallery slide thumb thumbnail thumbnails",
    "card": "card cards tile tiles grid teaser item items product products list listing results result",
    "price": "price prices pricing cost sale discount",
    "caption": "caption figcaption",
    "hidden": "hidden sr visually screenreader print noprint mobile desktop skip offscreen assistive hide collapse collapsed",
    "toc": "toc tableofcontents contents outline anchor",
    "action": "cta button btn action actions callout download",
    "body": "articlebody entry prose richtext rte markdown storybody bodytext postbody wysiwyg article story post single body "
    "text copy paragraph",
    "content": "content main primary maincontent page center central",
    "about": "description desc summary details detail overview specification specifications spec specs features about excerpt "
    "intro lead abstract dek",
    "faq": "faq faqs accordion question answer questions answers qa thread message messages",
    "doc": "doc docs documentation api reference guide wiki mw rst highlight code",
    "hero": "hero jumbotron splash cover title heading headline",
    "vote": "helpful vote votes voting like likes upvote score report flag edit editsection",
    "place": "map hours location locations directions contact phone tel language languages locale country region logo "
    "brand icon",
}
GROUPS = tuple(_GROUPS)
MARK = {group: 1 << number for number, group in enumerate(GROUPS)}
MARK_OF_WORD: dict[bytes, int] = {}
for _group, _words in _GROUPS.items():
    for _word in _words.encode().split():
        MARK_OF_WORD[_word] = MARK_OF_WORD.get(_word, 0) | MARK[_group]
_ROLE_WORDS = {b"navigation": "nav", b"banner": "head", b"contentinfo": "foot", b"complementary": "side", b"search": "form"}
MARK_OF_WORD.update({word: MARK[group] for word, group in _ROLE_WORDS.items()})
SHORTEST_PART = 5
"""Shorter mark words do not count inside longer words."""

# Elements that divide a page into parts. Each is one bit.
LANDMARKS = (
    b"main", b"article", b"nav", b"header", b"footer", b"aside", b"table", b"ul", b"ol", b"li", b"dl", b"figure", b"blockquote",
    b"pre", b"form",
)  # fmt: skip
LANDMARK = {tag: 1 << bit for bit, tag in enumerate(LANDMARKS)}
# Landmarks and marks that set a block apart from the page's own text.
SECONDARY_LANDMARKS = LANDMARK[b"nav"] | LANDMARK[b"footer"] | LANDMARK[b"aside"]
SECONDARY_MARKS = sum(MARK[group] for group in ("nav", "foot", "side", "comment", "related", "modal", "review", "ad"))
TAG_NUMBERS = 128
"""Tag numbers are below this."""

# Words of labels; translations stand with them where they are unmistakable.
_LABELS = {
    "related": "related similar recommended recommendations recommend also trending popular latest recent recently viewed "
    "bought together pairs picks sponsored promoted advertisement suggested suggestions advertiser verwandte empfohlen "
    "empfehlungen relacionados similaires recommandés correlati gerelateerd",
    "more": "more next read reading previous explore discover see view browse shop keep mehr weitere plus más meer",
    "posts": "stories story posts post articles article news headlines blog blogs artikel beiträge artículos articoli "
    "nachrichten",
    "comment": "comment comments reply replies respond response responses discussion conversation kommentar kommentare "
    "commentaires comentarios comentários commenti reacties",
    "review": "review reviews rating ratings rated stars testimonials customers feedback helpful bewertung bewertungen avis "
    "reseñas opiniones recensioni",
    "letter": "newsletter subscribe subscription signup sign inbox email updates join abonnieren anmelden",
    "share": "share follow tweet facebook twitter linkedin pinterest instagram youtube whatsapp teilen partager compartir",
    "author": "author written posted editor contributor bio by autor auteur autore",
    "tags": "tags tagged categories category topics filed archives schlagwörter kategorien etiquetas",
    "legal": "privacy cookie cookies terms conditions policy policies copyright rights reserved disclaimer legal datenschutz "
    "impressum",
    "about": "description details overview features specifications specs specification summary introduction conclusion "
    "ingredients materials dimensions benefits beschreibung descripción descrizione",
    "faq": "faq faqs questions question answers answer fragen preguntas",
    "shop": "cart checkout shipping delivery returns warranty price quantity wishlist stock add buy versand warenkorb",
    "account": "login log password account register menu search home suche",
    "contact": "contact address phone call location hours directions support help company careers kontakt contacto",
    "refs": "references sources citations notes footnotes bibliography external links quellen",
    "filter": "filter filters sort refine results items products showing",
    "toc": "contents table page inhalt",
}
# Words of labels in languages with other scripts. Chinese, Japanese and Korean ones also count inside longer words.
_LABELS_OF_LANGUAGE = {
    "zh": {
        "related": "相关 相關 推荐 推薦 猜你喜欢 猜你喜歡 热门 熱門 最新 精选 精選 赞助 广告 廣告 排行",
        "more": "更多 下一篇 上一篇 下一页 下一頁 上一页 上一頁 查看 阅读 閱讀 浏览",
        "posts": "文章 新闻 新聞 博客 资讯 資訊 头条 頭條 帖子",
        "comment": "评论 評論 回复 回復 回覆 留言 讨论 討論",
        "review": "评价 評價 评分 評分 好评 点评",
        "letter": "订阅 訂閱 邮箱 郵箱 电子报 電子報",
        "share": "分享 关注 關注 微博 微信 转发",
        "author": "作者 编辑 編輯 记者 記者 撰文 发布者",
        "tags": "标签 標籤 分类 分類 归档 话题",
        "legal": "隐私 隱私 条款 條款 版权 版權 免责 免責 备案",
        "about": "描述 简介 簡介 详情 詳情 概述 规格 規格 特点 特點 摘要 介绍 介紹",
        "faq": "常见问题 常見問題 问答 問答 问题 問題",
        "shop": "购物车 購物車 运费 運費 退货 退貨 价格 價格 库存 购买 購買 配送",
        "account": "登录 登入 密码 密碼 账号 帳號 注册 註冊 菜单 搜索 搜尋 首页 首頁",
        "contact": "联系 聯絡 地址 电话 電話 客服 帮助 幫助",
        "refs": "参考文献 參考文獻 参考资料 引用 注释 註釋 脚注 来源 來源 外部链接 外部連結",
        "filter": "筛选 篩選 排序 搜索结果",
        "toc": "目录 目錄",
    },
    "ja": {
        "related": "関連 おすすめ オススメ 人気 最近 ランキング 新着 スポンサー ピックアップ 特集",
        "more": "もっと 次へ 前へ 次の 前の 続きを 一覧",
        "posts": "記事 ニュース ブログ 投稿 コラム",
        "comment": "コメント 返信 ディスカッション 書き込み",
        "review": "レビュー 口コミ クチコミ 評判",
        "letter": "メルマガ メールマガジン 購読 会員登録",
        "share": "シェア 共有 フォロー ツイート いいね",
        "author": "著者 執筆 筆者 ライター 編集部 投稿者",
        "tags": "タグ カテゴリ カテゴリー アーカイブ",
        "legal": "プライバシー 利用規約 著作権 特定商取引 クッキー",
        "about": "説明 詳細 概要 特徴 仕様 要約 はじめに まとめ",
        "faq": "よくある質問 質問 回答",
        "shop": "カート 送料 返品 価格 数量 在庫 購入",
        "account": "ログイン パスワード アカウント メニュー 検索 ホーム",
        "contact": "お問い合わせ 住所 連絡先 会社概要 営業時間 サポート",
        "refs": "出典 脚注 注釈 参照 外部リンク",
        "filter": "絞り込み 並べ替え 検索結果",
        "toc": "目次",
    },
    "ko": {
        "related": "관련 추천 인기 최신 최근 광고 비슷한",
        "more": "더보기 다음 이전 전체보기",
        "posts": "기사 뉴스 블로그 게시글 포스트",
        "comment": "댓글 답글 토론 코멘트",
        "review": "리뷰 후기 평점 상품평",
        "letter": "구독 뉴스레터 이메일",
        "share": "공유 팔로우 페이스북 트위터 카카오톡",
        "author": "작성자 저자 기자 글쓴이",
        "tags": "태그 카테고리 분류",
        "legal": "개인정보 약관 저작권 쿠키",
        "about": "설명 상세 개요 소개 특징 요약 사양",
        "faq": "자주 질문 답변",
        "shop": "장바구니 배송 반품 가격 수량 재고 구매",
        "account": "로그인 비밀번호 회원가입 메뉴 검색",
        "contact": "연락처 주소 전화 문의 고객센터",
        "refs": "참고문헌 출처 각주 외부 링크",
        "filter": "필터 정렬 검색결과",
        "toc": "목차",
    },
    "ru": {
        "related": "похожие похожее рекомендуем рекомендуемые популярное популярные последние недавние реклама также",
        "more": "ещё еще далее следующая предыдущая подробнее читать смотреть больше",
        "posts": "статьи статья новости блог записи материалы",
        "comment": "комментарий комментарии комментариев ответить ответы обсуждение",
        "review": "отзыв отзывы отзывов рейтинг оценка",
        "letter": "подписаться подписка рассылка почта",
        "share": "поделиться вконтакте телеграм",
        "author": "автор автора редактор",
        "tags": "теги метки рубрики категории категория темы архив",
        "legal": "политика соглашение авторские правила",
        "about": "описание характеристики обзор особенности введение заключение состав",
        "faq": "вопросы вопрос ответ",
        "shop": "корзина доставка возврат гарантия цена купить количество",
        "account": "вход войти пароль аккаунт регистрация меню поиск главная",
        "contact": "контакты адрес телефон поддержка помощь",
        "refs": "примечания литература источники ссылки сноски",
        "filter": "фильтр фильтры сортировка сортировать результаты товары",
        "toc": "содержание оглавление",
    },
    "ar": {
        "related": "صلة مشابهة مقترحة الأكثر شائع أحدث إعلان إعلانات",
        "more": "المزيد التالي السابق اقرأ عرض تصفح",
        "posts": "مقالات مقال المقالات أخبار الأخبار مدونة المدونة",
        "comment": "تعليق تعليقات التعليقات رد ردود الردود",
        "review": "مراجعة مراجعات تقييم تقييمات التقييمات",
        "letter": "اشترك النشرة البريد اشتراك",
        "share": "شارك مشاركة تابعنا فيسبوك تويتر",
        "author": "الكاتب المؤلف بقلم كتبه",
        "tags": "وسوم الوسوم تصنيفات التصنيفات الأقسام",
        "legal": "الخصوصية الشروط حقوق سياسة",
        "about": "الوصف وصف تفاصيل التفاصيل المواصفات ملخص مقدمة خاتمة",
        "faq": "الأسئلة أسئلة سؤال إجابة",
        "shop": "السلة سلة الشحن السعر شراء الكمية التوصيل",
        "account": "تسجيل الدخول حساب القائمة بحث الرئيسية",
        "contact": "اتصل العنوان هاتف الدعم مساعدة",
        "refs": "المراجع المصادر مراجع هوامش",
        "filter": "تصفية ترتيب نتائج النتائج",
        "toc": "المحتويات الفهرس",
    },
}
LABELS = tuple(_LABELS)
LABELS_OF_LANGUAGE = {
    language: {group: tuple(words[group].split()) for group in LABELS} for language, words in _LABELS_OF_LANGUAGE.items()
}
LABEL_OF_WORD = {
    word.encode(): number
    for number, group in enumerate(LABELS)
    for word in chain(_LABELS[group].split(), *(words[group] for words in LABELS_OF_LANGUAGE.values()))
}
COUNTED_LABELS = ("related", "comment", "review", "letter", "author", "refs", "legal", "posts", "tags")
COUNTED_LABEL_BITS = tuple(1 << LABELS.index(group) for group in COUNTED_LABELS)
"""Groups for which the distance to the last label is a feature."""

BOLD = (b"b", b"strong", b"em")
_ROOTS = ("root0.4", "root0.6", "root0.8", "own_root0.5", "own_root0.7", "own_words0.5", "own_words0.7")


def _with(names: Sequence[str], parts: str) -> list[str]:
    return [f"{name}_{part}" for name in names for part in parts.split()]


def _split(text: str) -> list[str]:
    return text.split()


def _names() -> tuple[str, ...]:
    steps = ("-2", "-1", "+1", "+2")
    return tuple(
        chain(
            _split("tag outer heading level words linked word_length digits stops commas bars signs currency"),
            _split("links images breaks bold ends_with begins_with"),
            [f"{what}{step}" for step in steps for what in ("words", "linked", "tag")],
            ["heading-1", "heading+1"],
            [f"{what}_within{reach}" for reach in (3, 8, 20) for what in ("good", "linked", "words")],
            _split("good_after8 good_before8 to_next_good to_previous_good to_next_long to_previous_long"),
            _split("place words_place good_left good_before good_after"),
            _with(["section"], "words good good_share linked blocks level number"),
            _split("sections_left since_heading words_since_heading"),
            [f"named_{group}" for group in GROUPS],
            [f"in_{tag.decode()}" for tag in LANDMARKS],
            _with([f"around{step}" for step in (1, 2, 3, 5)], "share good_share linked blocks good"),
            _split("cards card_tag card_words card_linked card_place cards_share cards_good_share cards_linked cards_mean"),
            _with(["holder"], "tag good_share linked good blocks stops"),
            _with(_ROOTS, "blocks words to_end linked share"),
            _split("marked marked_share marked_to_end marked_from_start"),
            _split("titles title_blocks title_words title_share title_steps copy copies"),
            _split("alike alike_share alike_good_share alike_linked alike_mean alike_span since_first_alike"),
            _with(
                ["page"], "words good linked blocks headings paragraphs articles code currency good_blocks good_mean longest"
            ),
            [f"under_{group}" for group in LABELS],
            [f"since_{group}" for group in COUNTED_LABELS],
            _split("title_said title_covered title_section title_around1 title_around2 title_around4 title_page"),
        )
    )


FEATURE_NAMES = _names()
"""The features of a block, in the order in which `features.c` and `wording.c` compute them."""
