"""Fixtures of this folder."""

from tests.fixtures.cli import adapter, data, without_bounds  # noqa: F401
from tests.fixtures.judging_rubric import _no_proxy  # noqa: F401
from tests.fixtures.models import nobodys_environment  # noqa: F401
from tests.fixtures.systems_endpoint import endpoint, shared, threads  # noqa: F401
