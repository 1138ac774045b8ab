import json

from anthropic import Anthropic

from checks import (
    HELLO,
    MESSAGES_MODEL,
    MODEL,
    PIXEL,
    REASONED_WEATHER,
    REPLAY,
    RESULTS,
    TWO_TOOLS,
    WEATHER,
    check,
    expect,
    expect_error,
    not_offered,
)

client = Anthropic()  # reads ANTHROPIC_BASE_URL, without /v1, and ANTHROPIC_API_KEY


def schema(*names):
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


tools = [{"name": name, "input_schema": schema("city")} for name in RESULTS]


def user(content):
    return {"role": "user", "content": content}


def send(**fields):
    return client.messages.create(**{"model": MODEL, "max_tokens": 4096, **fields})


def streamed(**fields):
    with client.messages.stream(**{"model": MODEL, "max_tokens": 4096, **fields}) as events:
        return events.get_final_message()


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def loop(prompt, ask, **fields):
    """Calls what the message asks for, and sends its blocks back exactly as the SDK returned them."""
    first = ask(messages=[user(prompt)], tools=tools, **fields)
    calls = [block for block in first.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULTS[call.name]} for call in calls]
    messages = [user(prompt), {"role": "assistant", "content": first.content}, user(results)]
    answer = text_of(ask(messages=messages, tools=tools, **fields))
    for call in calls:
        expect(answer, RESULTS[call.name])
    return first.content, calls


def chat():
    message = client.messages.create(model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": HELLO}])
    expect(message.content[0].text, HELLO)


def stream():
    with client.messages.stream(model=MODEL, max_tokens=4096, messages=[user(HELLO)]) as events:
        expect("".join(events.text_stream), HELLO)


def structured():
    form = {"type": "json_schema", "schema": schema("name", "country")}
    message = send(messages=[user("Name a city.")], output_config={"format": form})
    expect(json.loads(text_of(message))["country"], "sample")


def image_input():
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL.split(",")[1]}
    message = send(messages=[user([{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}])])
    expect(text_of(message), "1 image")


def parallel():
    for ask in (send, streamed):
        assert len(loop(TWO_TOOLS, ask)[1]) == 2


def replay():
    for ask in (send, streamed):
        thinking = {"type": "enabled", "budget_tokens": 1024}
        content, _ = loop(REASONED_WEATHER, ask, model=MESSAGES_MODEL, thinking=thinking)
        assert content[0].type == "thinking"


def required():
    message = send(messages=[user(HELLO)], tools=tools, tool_choice={"type": "any"})
    assert message.content[0].type == "tool_use"


check("chat", chat)
check("stream", stream)
check("tools", lambda: loop(WEATHER, send))
check("structured output", structured)
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: send(model="x", messages=[user("x")]), "model_not_found"))
check("tools, streamed", lambda: loop(WEATHER, streamed))
check("parallel tools", parallel)
check(REPLAY, replay)
check('tool_choice={"type": "any"}', required)
check("messages.count_tokens", lambda: client.messages.count_tokens(model=MODEL, messages=[user(HELLO)]))
check("models.list", lambda: expect([model.id for model in client.models.list()], MODEL))
