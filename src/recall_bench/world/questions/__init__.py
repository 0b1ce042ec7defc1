"""Questions as queries over the ledger, one category a file."""
