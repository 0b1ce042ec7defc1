"""A Ray cluster of two nodes on the loopback address, in a process of its own.

Prints its address. `kill` on standard input takes the second node away; the end of the input ends
the cluster.
"""

import os
import sys

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Start the workers that a run asks for, and no more.
os.environ["RAY_prestart_worker_first_driver"] = "0"  # noqa: SIM112 - that is its name


def main() -> None:
    """Serve until the driver is gone."""
    from ray.cluster_utils import Cluster

    place = {"node_ip_address": "127.0.0.1", "num_cpus": 2, "include_dashboard": False}
    # Nobody reads the logs, and no machine is added: the processes for that start for nothing.
    spared = {"include_log_monitor": False, "no_monitor": True}
    cluster = Cluster(initialize_head=True, head_node_args=place | spared)
    second = cluster.add_node(node_ip_address="127.0.0.1", num_cpus=2)
    sys.stdout.write(f"{cluster.address}\n")
    sys.stdout.flush()
    try:
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(second, allow_graceful=False)
                sys.stdout.write("killed\n")
                sys.stdout.flush()
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
