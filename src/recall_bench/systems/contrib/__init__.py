"""Real memory products, each behind an ordinary Python adapter."""
