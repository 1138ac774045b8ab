import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

from checks import HELLO, MODEL, PIXEL, WEATHER, check, expect, expect_error, not_offered

llm = OpenAILike(
    model=MODEL,
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    context_window=128_000,
    is_chat_model=True,
    is_function_calling_model=True,
    should_use_structured_outputs=True,
)


class City(BaseModel):
    name: str
    country: str


def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def chat():
    answer = llm.chat([ChatMessage(HELLO)])
    expect(answer.message.content, HELLO)


def stream():
    expect("".join(chunk.delta or "" for chunk in llm.stream_chat([ChatMessage(HELLO)])), HELLO)


def tools():
    async def run():
        return await FunctionAgent(tools=[get_weather], llm=llm).run(WEATHER)

    expect(asyncio.run(run()), "sunny")


def structured(model):
    assert isinstance(model.as_structured_llm(City).complete("Name a city.").raw, City)


def image_input():
    message = ChatMessage(blocks=[TextBlock(text="What is this?"), ImageBlock(url=PIXEL)])
    expect(llm.chat([message]).message.content, "1 image")


def limited():
    answer = llm.model_copy(update={"max_tokens": 1}).chat([ChatMessage(HELLO)])
    expect(answer.raw.choices[0].finish_reason, "length")


check("chat", chat)
check("stream", stream)
check("tools", tools)
check("structured output", lambda: structured(llm))
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: llm.model_copy(update={"model": "x"}).chat([ChatMessage(HELLO)]), "model_not_found"))
check("max_tokens=1", limited)
check("should_use_structured_outputs=False", lambda: structured(llm.model_copy(update={"should_use_structured_outputs": False})))
