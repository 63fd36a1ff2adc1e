"""Embeddings, and vector search in memory, by pgvector or by Qdrant."""
