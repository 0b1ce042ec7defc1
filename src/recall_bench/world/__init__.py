"""The simulator: facts first, text from facts, questions from facts."""
