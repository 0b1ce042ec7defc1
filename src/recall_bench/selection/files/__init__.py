"""The file formats of selection suites: tests, results and memories, exact to the byte."""
