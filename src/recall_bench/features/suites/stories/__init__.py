"""Stories of the behaviour suites: erasure, poisoning, tenants, freshness and load."""
