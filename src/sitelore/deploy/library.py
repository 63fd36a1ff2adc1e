"""The library of a house, built when somebody first asks: a crawl has no use for it and must not pay for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitelore.deploy.settings import OperatorSettings, operator_settings
from sitelore.model.redaction import Redaction
from sitelore.ports import Blobs, Clock, Ledger
from sitelore.store.engine import Engine

if TYPE_CHECKING:
    from sitelore.crawl.search_service import SearchService
    from sitelore.store.knowledge import SqlSearchIndex
    from sitelore.store.likeness import VectorSearch


class LibraryDoor:
    """Opens the library over one database."""

    def __init__(self, engine: Engine, ledger: Ledger, blobs: Blobs, clock: Clock, redaction: Redaction) -> None:
        self._engine = engine
        self._ledger = ledger
        self._blobs = blobs
        self._clock = clock
        self._redaction = redaction
        self._opened: SearchService | None = None
        self._search_index: SqlSearchIndex | None = None

    def open(self) -> SearchService:
        """The library; the same one each time."""
        if self._opened is None:
            # Imported here: numpy, words of many languages and a model's runtime are nothing that a crawl needs.
            from sitelore.crawl.index_pages import Indexing  # noqa: PLC0415 see above
            from sitelore.crawl.search_service import SearchService  # noqa: PLC0415 see above
            from sitelore.index.embeddings.factory import embedder_for  # noqa: PLC0415 see above
            from sitelore.store.knowledge import SqlSearchIndex  # noqa: PLC0415 see above

            operator = operator_settings()
            self._search_index = SqlSearchIndex(self._engine, _comparing(self._engine, operator))
            indexing = Indexing(self._ledger, self._search_index, self._blobs, self._clock, self._redaction)
            self._opened = SearchService(indexing, embedder_for(operator.embeddings, operator.embeddings_key))
        return self._opened

    async def close(self) -> None:
        """Give back what a model and a vector store hold."""
        if self._opened is not None and self._opened.embedder is not None:
            await self._opened.embedder.close()
        if self._search_index is not None:
            await self._search_index.close()


def _comparing(engine: Engine, operator: OperatorSettings) -> VectorSearch | None:
    """Who compares vectors, if not the database or this process."""
    if operator.vectors in {"", "database"}:
        return None
    from sitelore.store.qdrant_rest import QdrantServer  # noqa: PLC0415 only where one is named
    from sitelore.store.qdrant_vectors import QdrantVectorSearch  # noqa: PLC0415 see above

    return QdrantVectorSearch(engine, QdrantServer.read(operator.vectors, operator.vectors_key))
