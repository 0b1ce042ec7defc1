"""Systems that the doctor examines by name: each of its processes imports this module alone."""

from recall_bench.testing import Honest


class Chatty(Honest):
    """Prints while it works; finds more than there is in a story, and so is suspect and no more."""

    def query(self, question: str, context: object) -> object:
        print("looking it up")  # noqa: T201 - what it is here for
        return super().query(question, context)  # type: ignore[arg-type]

    def reply_unknown(self, question: str) -> object:
        return f"It is {len(question)} o'clock, I am sure; Vandermeer said so himself."
