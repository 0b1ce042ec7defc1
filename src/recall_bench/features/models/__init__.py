"""Language models, embedders and rerankers: providers, programs, batches, the model endpoint."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.models"

FEATURE = Feature(
    name="models",
    commands=(
        Command(
            name="serve endpoint",
            target=f"{HERE}.endpoint_command:endpoint_command",
            old_names={
                "endpoint": "serve endpoint",
            },
        ),
    ),
    parts={
        "models.batch_senders": f"{HERE}.batch_senders:SENDERS",
        "models.converse": f"{HERE}.provider_conversation:open_conversation",
        "models.deliver_batches": f"{HERE}.batch_delivery:deliver_batches",
        "models.describe_sending": f"{HERE}.target:describe_sending",
        "models.estimate_cost": f"{HERE}.target:estimate_target_cost",
        "models.open_endpoint": f"{HERE}.model_endpoint:open_endpoint_system",
        "models.resolve": f"{HERE}.target:resolve_model",
        "models.suggest": f"{HERE}.target:suggest_spelling",
        "models.without_keys": f"{HERE}.missing_keys:allow_missing_keys",
        "models.list_agents": f"{HERE}.provider_catalogue:list_agents",
        "models.is_spec": f"{HERE}.model_spec:is_spec",
    },
)
