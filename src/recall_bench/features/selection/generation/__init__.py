"""Generation of selection suites from a folder of memories."""
