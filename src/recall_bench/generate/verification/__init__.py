"""The verifier: re-derives every answer of a simulated world from its text alone."""
