"""Run by Alembic: the steps go over the connection that `current.upgrade` gives, inside its transaction."""

from __future__ import annotations

from alembic import context

from sitelore.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
