#!/bin/bash
# A run on nodes of Slurm that others use too: head and workers with ports of this job's own.
#SBATCH --job-name=recall
#SBATCH --nodes=4
#SBATCH --tasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=08:00:00
#SBATCH --requeue

set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{print $1}')
port=$((20000 + SLURM_JOB_ID % 20000))

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --node-ip-address="$address" --port="$port" --include-dashboard=false \
    --num-cpus="$SLURM_CPUS_PER_TASK" --block &
sleep 20
srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) \
    --exclude="$head" --overlap \
    ray start --address="$address:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
sleep 20

# The batch script runs on the first node, beside the head. Its end ends the others.
recall-bench run --adapter my_memory:Memory --lifecycle fresh \
    --executor ray --ray-address "$address:$port" --workers 31 \
    --into "$SLURM_SUBMIT_DIR/runs/my-memory"
