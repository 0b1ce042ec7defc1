"""Pass 1: the days of a story, written session by session.

Which days are written, where, and what their author may know is decided from the story alone; what
earlier days say is read from the disk. So a run that was cut short goes on to the same corpus.
"""
