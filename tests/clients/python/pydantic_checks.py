"""The same checks for both of pydantic-ai's models that speak an agent's format."""
import base64

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ThinkingPart

from checks import (
    HELLO,
    PIXEL,
    REASONED_WEATHER,
    REPLAY,
    TWO_TOOLS,
    WEATHER,
    check,
    expect,
    expect_error,
    not_offered,
)


class City(BaseModel):
    name: str
    country: str


def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def get_time(city: str) -> str:
    """The time in a city."""
    return "noon"


def check_model(model, unknown, thinker, thinking):
    """`thinker` is a model that shows its reasoning with the settings `thinking`."""
    agent = Agent(model)
    able = Agent(model, tools=[get_weather, get_time])

    def streamed(by, prompt):
        return "".join(by.run_stream_sync(prompt).stream_text(delta=True))

    def structured():
        assert isinstance(Agent(model, output_type=City).run_sync("Name a city.").output, City)

    def image_input():
        image = BinaryContent(base64.b64decode(PIXEL.split(",")[1]), media_type="image/png")
        expect(agent.run_sync(["What is this?", image]).output, "1 image")

    def parallel():
        for answer in (able.run_sync(TWO_TOOLS).output, streamed(able, TWO_TOOLS)):
            expect(answer, "sunny")
            expect(answer, "noon")

    def replay():
        result = Agent(thinker, tools=[get_weather], model_settings=thinking).run_sync(REASONED_WEATHER)
        expect(result.output, "sunny")
        assert isinstance(result.all_messages()[1].parts[0], ThinkingPart)

    check("chat", lambda: expect(agent.run_sync(HELLO).output, HELLO))
    check("stream", lambda: expect(streamed(agent, HELLO), HELLO))
    check("tools", lambda: expect(able.run_sync(WEATHER).output, "sunny"))
    check("structured output", structured)
    check("image input", image_input)
    not_offered("image output")
    check("errors", lambda: expect_error(lambda: Agent(unknown).run_sync(HELLO), "model_not_found"))
    check("tools, streamed", lambda: expect(streamed(able, WEATHER), "sunny"))
    check("parallel tools", parallel)
    check(REPLAY, replay)
    check("instructions=…", lambda: Agent(model, instructions="Be brief.").run_sync(HELLO))
