"""The leaderboard: a static site made of verified runs."""
