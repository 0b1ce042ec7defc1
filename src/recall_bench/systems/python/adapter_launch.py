"""How a user's adapter is started: its command, its sandbox policy and its limits."""

import sys
import weakref
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core import sandbox
from recall_bench.core.memory import Isolation, IsolationCard
from recall_bench.core.user_code import split_target
from recall_bench.systems.python.adapter_process import STATE, AdapterSpec
from recall_bench.systems.transports.child_environment import build_environment, find_endpoint_ports
from recall_bench.systems.transports.child_sandbox import PACKAGES, list_closed


@dataclass(frozen=True, kw_only=True, eq=False)
class AdapterLaunch:
    """How the processes of an adapter are started."""

    target: str
    code: str
    """The target of the user's code: the same, unless the adapter is ours and calls it."""
    factory: str | None
    config: dict[str, object]
    env: tuple[str, ...]
    hidden: tuple[Path, ...]
    """Files and folders that the process must not read."""
    opened: tuple[Path, ...] = ()
    """Files and folders that the user lets it read."""
    allows_network: bool

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"the adapter {self.code}"

    @property
    def isolation(self) -> IsolationCard:
        """What this machine can do to isolate it."""
        is_confined = sandbox.is_available()
        kind = Isolation.SANDBOX if is_confined else Isolation.PROCESS
        has_network = self.allows_network or not is_confined or self._lacks_port_limit
        reads = tuple(map(str, self.opened))
        return IsolationCard(kind=kind, network=has_network, env=self.env, reads=reads)

    @property
    def copy_obstacle(self) -> str:
        """Why its processes must not be copied; empty if nothing lets them keep state elsewhere."""
        isolation = self.isolation
        if isolation.kind is not Isolation.SANDBOX:
            return "this system cannot confine it, so it may keep what it knows elsewhere"
        return "it has a network, so it may keep what it knows elsewhere" * isolation.network

    @property
    def _lacks_port_limit(self) -> bool:
        return bool(find_endpoint_ports()) and not sandbox.can_limit_ports()

    def build_spec(self, private: Path) -> AdapterSpec:
        """The specification of a process in this folder, which gets the files that it needs."""
        (private / STATE).mkdir(exist_ok=True)
        isolation = self.isolation
        return AdapterSpec(
            target=self.target,
            factory=self.factory,
            config=self.config,
            path=tuple(str(Path(entry).absolute()) for entry in self._list_path()),
            folder=str(Path.cwd()),
            environ=build_environment(private, self.env),
            private=str(private),
            policy=self._build_policy(private, has_network=isolation.network)
            if isolation.kind is Isolation.SANDBOX
            else None,
        )

    def _build_policy(self, private: Path, *, has_network: bool) -> sandbox.SandboxPolicy:
        policy = _POLICIES.get(self)
        if policy is None:
            folders, needed = [Path(entry) for entry in self._list_path()], [PACKAGES, *self.opened]
            file = Path(split_target(self.code)[0])
            hidden = list(self.hidden)
            own = Path.cwd()
            if file.suffix == ".py":
                own = file.resolve().parent
                folders.append(own)
                needed.append(file.resolve())
            hidden += list_closed(own)
            readable = sandbox.build_policy(folders, hidden, needed=needed)
            policy = _POLICIES[self] = readable
        return policy.replace(
            writable=(str(private), *policy.writable),
            network=has_network,
            ports=find_endpoint_ports(),
        )

    def _list_path(self) -> list[str]:
        """Our module search path; the folder we are in only if the adapter is a module."""
        is_file = split_target(self.code)[0].endswith(".py")
        here = {"", str(Path.cwd())} if is_file else {""}
        added = [] if is_file else [str(Path.cwd())]
        return [*(entry for entry in sys.path if entry not in here), *added]


_POLICIES: "weakref.WeakKeyDictionary[AdapterLaunch, sandbox.SandboxPolicy]" = (
    weakref.WeakKeyDictionary()
)
"""What the processes of a launch may read: looking that up takes longer than most calls."""
