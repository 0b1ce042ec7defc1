"""Long stories of entities that live for years, and of threads that act on them."""
