#!/bin/bash
# A run on whole nodes of Slurm: sbatch slurm-ray.sh, and again to go on with it.
#SBATCH --job-name=recall
#SBATCH --nodes=4
#SBATCH --exclusive
#SBATCH --tasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --requeue

set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{print $1}')

# Ray starts on every node, the command runs on the first of them, and Ray is stopped again.
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" \
    ray symmetric-run --address "$address:6379" --min-nodes "$SLURM_JOB_NUM_NODES" \
    --num-cpus="$SLURM_CPUS_PER_TASK" -- \
    recall-bench run --adapter my_memory:Memory --lifecycle fresh \
    --executor ray --ray-address auto --workers 63 --into "$SLURM_SUBMIT_DIR/runs/my-memory"
