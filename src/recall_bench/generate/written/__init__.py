"""Written editions: stories whose days a writer wrote, with every checkable value in a slot."""
