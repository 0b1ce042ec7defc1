"""Every fuzz target."""

from collections.abc import Sequence

from tests.fuzz.agent_targets import list_agent_targets
from tests.fuzz.dataset_targets import list_dataset_targets
from tests.fuzz.history_targets import list_history_targets
from tests.fuzz.model_targets import list_model_targets
from tests.fuzz.reply_targets import list_reply_targets
from tests.fuzz.run_targets import list_run_targets
from tests.fuzz.server_targets import list_server_targets
from tests.fuzz.settings_targets import list_settings_targets
from tests.fuzz.source_targets import list_source_targets
from tests.fuzz.suite_targets import list_suite_targets
from tests.fuzz.target import FuzzTarget


def list_targets() -> Sequence[FuzzTarget]:
    """List all targets, in the order of the table."""
    return (
        *list_dataset_targets(),
        *list_history_targets(),
        *list_source_targets(),
        *list_settings_targets(),
        *list_run_targets(),
        *list_suite_targets(),
        *list_reply_targets(),
        *list_agent_targets(),
        *list_model_targets(),
        *list_server_targets(),
    )
