"""The simulator: authored arcs and routine processes become a ledger, daily logs and questions."""
