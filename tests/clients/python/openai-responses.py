from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from checks import (
    HELLO,
    MODEL,
    PIXEL,
    REASONED_WEATHER,
    REPLAY,
    RESPONSES_MODEL,
    RESULTS,
    TWO_TOOLS,
    WEATHER,
    check,
    expect,
    expect_error,
    not_offered,
)

client = OpenAI()  # reads OPENAI_BASE_URL and OPENAI_API_KEY


class Place(BaseModel):
    city: str


class City(BaseModel):
    name: str
    country: str


tools = [
    {"type": "function", "name": name, "parameters": pydantic_function_tool(Place)["function"]["parameters"], "strict": True}
    for name in RESULTS
]


def respond(**fields):
    return client.responses.create(**{"model": MODEL, "store": False, **fields})


def streamed(**fields):
    with client.responses.stream(**{"model": MODEL, "store": False, **fields}) as events:
        return events.get_final_response()


def loop(prompt, send, **fields):
    """Calls what the response asks for, and sends its items back exactly as the SDK returned them."""
    asked = [{"role": "user", "content": prompt}]
    first = send(input=asked, tools=tools, **fields)
    calls = [item for item in first.output if item.type == "function_call"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": RESULTS[call.name]} for call in calls]
    answer = send(input=[*asked, *first.output, *results], tools=tools, **fields).output_text
    for call in calls:
        expect(answer, RESULTS[call.name])
    return first.output, calls


def chat():
    response = client.responses.create(model=MODEL, input=HELLO)
    expect(response.output_text, HELLO)


def stream():
    events = client.responses.create(model=MODEL, input=HELLO, stream=True)
    expect("".join(event.delta for event in events if event.type == "response.output_text.delta"), HELLO)


def structured():
    response = client.responses.parse(model=MODEL, input="Name a city.", text_format=City)
    assert isinstance(response.output_parsed, City)


def image_input():
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"}]
    expect(respond(input=[{"role": "user", "content": parts}]).output_text, "1 image")


def parallel():
    for send in (respond, streamed):
        assert len(loop(TWO_TOOLS, send)[1]) == 2


def replay():
    for send in (respond, streamed):
        output, _ = loop(REASONED_WEATHER, send, model=RESPONSES_MODEL, include=["reasoning.encrypted_content"])
        assert output[0].type == "reasoning"


def required():
    response = respond(input=HELLO, tools=tools, tool_choice="required")
    assert response.output[0].type == "function_call"


check("chat", chat)
check("stream", stream)
check("tools", lambda: loop(WEATHER, respond))
check("structured output", structured)
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: respond(model="x", input="x"), "model_not_found"))
check("tools, streamed", lambda: loop(WEATHER, streamed))
check("parallel tools", parallel)
check(REPLAY, replay)
check('tool_choice="required"', required)
check("previous_response_id", lambda: respond(input=HELLO, previous_response_id="resp_1"))
