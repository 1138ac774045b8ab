from pydantic_ai.models.anthropic import AnthropicModel

from checks import MESSAGES_MODEL, MODEL
from pydantic_checks import check_model

# Reads ANTHROPIC_BASE_URL, without /v1, and ANTHROPIC_API_KEY.
model = AnthropicModel(MODEL)

check_model(
    model,
    unknown=AnthropicModel("x"),
    thinker=AnthropicModel(MESSAGES_MODEL),
    thinking={"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
)
