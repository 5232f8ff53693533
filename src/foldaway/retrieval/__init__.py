"""Finding memories again: embedders, the hybrid retriever and what triggers it."""
