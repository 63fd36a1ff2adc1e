"""What a run teaches about its site: whether its pages are made in the browser. Written once, when the run ends."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.model.ids import RunId
from sitelore.model.rendering import NEEDED, SiteRendering
from sitelore.model.settings import RenderMode
from sitelore.store.rows import encode, is_kept, settings_of, site_rendering_of
from sitelore.store.schema import runs, sites, urls

_NEEDED = sorted(reason.value for reason in NEEDED)


def learn_rendering(conn: sa.Connection, run: RunId) -> None:
    """Count the run, and where it was free to choose, the pages that needed a browser and those that did not.

    The caller has locked the site's row.
    """
    site, settings = conn.execute(sa.select(runs.c.site_id, runs.c.settings).where(runs.c.id == run)).one()
    this = sites.c.id == site
    learnt = site_rendering_of(conn.scalar(sa.select(sites.c.rendering).where(this)))
    browser, http = learnt.browser, learnt.http
    if settings_of(settings).rendering.mode is RenderMode.AUTO:
        c = urls.c
        reason = sa.case((c.render_reason.in_(_NEEDED), 1), (c.render_reason.is_(None), 0))
        read = sa.select(sa.func.sum(reason), sa.func.count(reason)).where(c.run_id == run, is_kept(), c.fetches > 0)
        needed, judged = conn.execute(read.where(c.state == sa.text("'VISITED'"))).one()
        if judged:
            browser, http = int(needed), int(judged - needed)
    text = encode(SiteRendering(learnt.runs + 1, browser, http)).decode()
    conn.execute(sa.update(sites).where(this).values(rendering=text))
