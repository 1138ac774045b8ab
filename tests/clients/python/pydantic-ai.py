import base64

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile

from checks import HELLO, MODEL, PIXEL, WEATHER, check, expect, expect_error, not_offered

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
profile = OpenAIModelProfile(
    openai_chat_supports_max_completion_tokens=False,
    default_structured_output_mode="native",
)
model = OpenAIChatModel(MODEL, profile=profile)
agent = Agent(model, model_settings={"max_tokens": 500})


class City(BaseModel):
    name: str
    country: str


def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def chat():
    answer = agent.run_sync(HELLO)
    expect(answer.output, HELLO)


def stream():
    result = agent.run_stream_sync(HELLO)
    expect("".join(result.stream_text(delta=True)), HELLO)


def tools():
    expect(Agent(model, tools=[get_weather]).run_sync(WEATHER).output, "sunny")


def expect_city(found):
    assert isinstance(found.output, City)


def image_input():
    image = BinaryContent(base64.b64decode(PIXEL.split(",")[1]), media_type="image/png")
    expect(agent.run_sync(["What is this?", image]).output, "1 image")


def limited(by, **settings):
    answer = Agent(by).run_sync(HELLO, model_settings=settings)
    expect(answer.response.finish_reason, "length")


check("chat", chat)
check("stream", stream)
check("tools", tools)
geographer = Agent(model, output_type=City)
check("structured output", lambda: expect_city(geographer.run_sync("Name a city.")))
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: Agent(OpenAIChatModel("x")).run_sync(HELLO), "model_not_found"))
check("max_tokens=1", lambda: limited(model, max_tokens=1))
plain = OpenAIChatModel(MODEL)
check("max_tokens=1 without the profile", lambda: limited(plain, max_tokens=1))
check('extra_body={"max_tokens": 1} without the profile', lambda: limited(plain, extra_body={"max_tokens": 1}))
check("output_type=City without the profile", lambda: expect_city(Agent(plain, output_type=City).run_sync("Name a city.")))
native = Agent(plain, output_type=NativeOutput(City))
check("output_type=NativeOutput(City) without the profile", lambda: expect_city(native.run_sync("Name a city.")))
check("instructions=…", lambda: Agent(model, instructions="Be brief.").run_sync(HELLO))
