import base64

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel

from checks import HELLO, MODEL, PIXEL, WEATHER, check, expect, expect_error, not_offered

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
model = OpenAIChatModel(MODEL)
agent = Agent(model)


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


def structured(output_type):
    assert isinstance(Agent(model, output_type=output_type).run_sync("Name a city.").output, City)


def image_input():
    image = BinaryContent(base64.b64decode(PIXEL.split(",")[1]), media_type="image/png")
    expect(agent.run_sync(["What is this?", image]).output, "1 image")


def limited():
    agent.run_sync(HELLO, model_settings={"max_tokens": 5})


check("chat", chat)
check("stream", stream)
check("tools", tools)
check("structured output", lambda: structured(NativeOutput(City)))
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: Agent(OpenAIChatModel("x")).run_sync(HELLO), "model_not_found"))
check("max_tokens=5", limited)
check("output_type=City", lambda: structured(City))
check("instructions=…", lambda: Agent(model, instructions="Be brief.").run_sync(HELLO))
