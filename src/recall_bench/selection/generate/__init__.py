"""New tests from a folder of memories.

A sample is drawn, a writer makes a prompt of it and says what is relevant, and what passes every
check becomes a `.bench` file at once. There are two writers: a language model, and one that needs
none and composes prompts from the memories' own words.
"""
