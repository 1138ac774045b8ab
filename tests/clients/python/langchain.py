from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from checks import HELLO, MODEL, PIXEL, WEATHER, check, expect, expect_error, not_offered

# Reads OPENAI_BASE_URL and OPENAI_API_KEY.
model = ChatOpenAI(model=MODEL, use_responses_api=False, extra_body={"max_tokens": 500})


class City(BaseModel):
    name: str
    country: str


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def chat():
    answer = model.invoke(HELLO)
    expect(answer.text, HELLO)


def stream():
    expect("".join(chunk.text for chunk in model.stream(HELLO)), HELLO)


def tools(able):
    messages = [HumanMessage(WEATHER)]
    call = able.invoke(messages)
    [wanted] = call.tool_calls
    result = ToolMessage(get_weather.invoke(wanted["args"]), tool_call_id=wanted["id"])
    expect(able.invoke([*messages, call, result]).text, "sunny")


def structured(able):
    assert isinstance(able.invoke("Name a city."), City)


def image_input():
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    expect(model.invoke([HumanMessage(parts)]).text, "1 image")


def limited(**settings):
    answer = ChatOpenAI(model=MODEL, use_responses_api=False, **settings).invoke(HELLO)
    expect(answer.response_metadata["finish_reason"], "length")


check("chat", chat)
check("stream", stream)
check("tools", lambda: tools(model.bind_tools([get_weather])))
geographer = model.with_structured_output(City)
check("structured output", lambda: structured(geographer))
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: ChatOpenAI(model="x").invoke(HELLO), "model_not_found"))
check('extra_body={"max_tokens": 1}', lambda: limited(extra_body={"max_tokens": 1}))
check("max_tokens=1", lambda: limited(max_tokens=1))
check("bind_tools(strict=True)", lambda: tools(model.bind_tools([get_weather], strict=True)))
check('bind_tools(tool_choice="any")', lambda: tools(model.bind_tools([get_weather], tool_choice="any")))
by_function = model.with_structured_output(City, method="function_calling")
check('with_structured_output(method="function_calling")', lambda: structured(by_function))
check('with_structured_output(method="json_mode")', lambda: model.with_structured_output(None, method="json_mode").invoke("Name a city."))
