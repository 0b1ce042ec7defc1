"""The simulator: facts are drawn from a seed first, sentences and questions are made of them."""
