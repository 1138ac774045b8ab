import os

import litellm
from pydantic import BaseModel

from checks import HELLO, IMAGE_MODEL, MODEL, PIXEL, WEATHER, check, expect, expect_error

litellm.suppress_debug_info = True


class City(BaseModel):
    name: str
    country: str


tools = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def user(content):
    return {"role": "user", "content": content}


# Reads OPENAI_API_KEY.
def complete(messages, model=MODEL, **fields):
    return litellm.completion(
        model=f"openai/{model}", api_base=os.environ["OPENAI_BASE_URL"], messages=messages, **fields
    )


def chat():
    expect(complete([user(HELLO)]).choices[0].message.content, HELLO)


def stream():
    expect("".join(chunk.choices[0].delta.content or "" for chunk in complete([user(HELLO)], stream=True)), HELLO)


def tools_loop(include):
    message = complete([user(WEATHER)], tools=tools).choices[0].message.model_dump(include=include)
    [call] = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
    expect(complete([user(WEATHER), message, result], tools=tools).choices[0].message.content, "sunny")


def structured():
    answer = complete([user("Name a city.")], response_format=City)
    assert City.model_validate_json(answer.choices[0].message.content)


def image_input():
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    expect(complete([user(parts)]).choices[0].message.content, "1 image")


def image_output():
    images = litellm.image_generation(
        model=f"openai/{IMAGE_MODEL}", api_base=os.environ["OPENAI_BASE_URL"], prompt="A gate", size="1024x1024"
    )
    expect(images.data[0].url, "://")


check("chat", chat)
check("stream", stream)
check("tools", lambda: tools_loop({"role", "content", "tool_calls"}))
check("structured output", structured)
check("image input", image_input)
check("image output", image_output)
check("errors", lambda: expect_error(lambda: complete([user(HELLO)], model="x"), "model_not_found"))
check("max_tokens=5", lambda: complete([user(HELLO)], max_tokens=5))
check("a message sent back with all its fields", lambda: tools_loop(None))
