"""The shipped stories, and the folders of personas that a run is asked to use."""
