"""In what operating systems differ, for everything outside of `core`.

Within `core` each module that starts processes, handles signals, locks or confines asks for itself,
because type checkers understand only `sys.platform`; docs/reference/platforms.md lists them all.
"""

import os
import sys
from typing import Final

IS_WINDOWS: Final = sys.platform == "win32"

CAN_REUSE_ADDRESS: Final = os.name == "posix"
"""Whether SO_REUSEADDR means an address whose last connections linger; on Windows, one in use."""
