"""The library of tools is played once for all test processes."""

import pytest

from tests.generate.life import played_library
from tests.generate.world.built_bakery import find_shared_folder
from tests.short_stories import share_draws


@pytest.fixture(scope="session", autouse=True)
def _shared_plays(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = find_shared_folder(tmp_path_factory) / "plays"
    vars(played_library)["draw_library"] = share_draws(folder, played_library.draw_library)
