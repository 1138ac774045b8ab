import asyncio

from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_api, set_tracing_disabled
from pydantic import BaseModel

from checks import HELLO, MODEL, PIXEL, WEATHER, check, expect, expect_error, not_offered

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
set_default_openai_api("chat_completions")
set_tracing_disabled(True)
agent = Agent(name="Assistant", model=MODEL)


# The client keeps its connections, so everything runs in one loop.
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


class City(BaseModel):
    name: str
    country: str


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def chat():
    answer = Runner.run_sync(agent, HELLO)
    expect(answer.final_output, HELLO)


def stream():
    async def run():
        result = Runner.run_streamed(agent, HELLO)
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        return "".join(deltas)

    expect(loop.run_until_complete(run()), HELLO)


def tools(**settings):
    able = Agent(name="Assistant", model=MODEL, tools=[get_weather], **settings)
    expect(Runner.run_sync(able, WEATHER).final_output, "sunny")


def structured():
    typed = Agent(name="Assistant", model=MODEL, output_type=City)
    assert isinstance(Runner.run_sync(typed, "Name a city.").final_output, City)


def image_input():
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"}]
    expect(Runner.run_sync(agent, [{"role": "user", "content": parts}]).final_output, "1 image")


check("chat", chat)
check("stream", stream)
check("tools", tools)
check("structured output", structured)
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: Runner.run_sync(Agent(name="A", model="x"), HELLO), "model_not_found"))
check("ModelSettings(max_tokens=5)", lambda: Runner.run_sync(Agent(name="A", model=MODEL, model_settings=ModelSettings(max_tokens=5)), HELLO))
check('ModelSettings(tool_choice="required")', lambda: tools(model_settings=ModelSettings(tool_choice="required")))
