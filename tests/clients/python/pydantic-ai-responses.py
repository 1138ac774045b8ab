from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile

from checks import MODEL, RESPONSES_MODEL
from pydantic_checks import check_model

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
model = OpenAIResponsesModel(MODEL, settings={"openai_store": False})
# Asks for reasoning that can be sent back, as it does by itself with the names of OpenAI's reasoning models.
profile = OpenAIModelProfile(openai_supports_encrypted_reasoning_content=True)

check_model(
    model,
    unknown=OpenAIResponsesModel("x"),
    thinker=OpenAIResponsesModel(RESPONSES_MODEL, profile=profile),
    thinking={"openai_store": False},
)
