import asyncio

from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled
from pydantic import BaseModel

from checks import (
    HELLO,
    MODEL,
    PIXEL,
    REASONED_WEATHER,
    REPLAY,
    RESPONSES_MODEL,
    TWO_TOOLS,
    WEATHER,
    check,
    expect,
    expect_error,
    not_offered,
)

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
set_tracing_disabled(True)
agent = Agent(name="Assistant", model=MODEL, model_settings=ModelSettings(store=False))

# The client keeps its connections, so everything runs in one loop.
event_loop = asyncio.new_event_loop()
asyncio.set_event_loop(event_loop)


class City(BaseModel):
    name: str
    country: str


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


@function_tool
def get_time(city: str) -> str:
    """The time in a city."""
    return "noon"


able = agent.clone(tools=[get_weather, get_time])


def streamed(by, prompt):
    async def run():
        result = Runner.run_streamed(by, prompt)
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        return "".join(deltas)

    return event_loop.run_until_complete(run())


def structured():
    assert isinstance(Runner.run_sync(agent.clone(output_type=City), "Name a city.").final_output, City)


def image_input():
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"}]
    expect(Runner.run_sync(agent, [{"role": "user", "content": parts}]).final_output, "1 image")


def parallel():
    for answer in (Runner.run_sync(able, TWO_TOOLS).final_output, streamed(able, TWO_TOOLS)):
        expect(answer, "sunny")
        expect(answer, "noon")


def replay():
    settings = ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    result = Runner.run_sync(able.clone(model=RESPONSES_MODEL, model_settings=settings), REASONED_WEATHER)
    expect(result.final_output, "sunny")
    assert result.new_items[0].type == "reasoning_item"


def required():
    forced = able.clone(model_settings=ModelSettings(tool_choice="required"))
    expect(Runner.run_sync(forced, HELLO).final_output, "sunny")


check("chat", lambda: expect(Runner.run_sync(agent, HELLO).final_output, HELLO))
check("stream", lambda: expect(streamed(agent, HELLO), HELLO))
check("tools", lambda: expect(Runner.run_sync(able, WEATHER).final_output, "sunny"))
check("structured output", structured)
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: Runner.run_sync(agent.clone(model="x"), HELLO), "model_not_found"))
check("tools, streamed", lambda: expect(streamed(able, WEATHER), "sunny"))
check("parallel tools", parallel)
check(REPLAY, replay)
check('ModelSettings(tool_choice="required")', required)
