import instructor
from openai import OpenAI
from pydantic import BaseModel

from checks import HELLO, MODEL, PIXEL, check, expect, expect_error, not_offered

# OpenAI() reads OPENAI_BASE_URL and OPENAI_API_KEY.
client = instructor.from_openai(OpenAI(), mode=instructor.Mode.JSON_SCHEMA)


class City(BaseModel):
    name: str
    country: str


def user(content):
    return {"role": "user", "content": content}


def structured(able):
    city = able.create(model=MODEL, messages=[user("Name a city.")], response_model=City, max_retries=0)
    assert isinstance(city, City)


def plain():
    answer = client.create(model=MODEL, messages=[user(HELLO)], response_model=None)
    expect(answer.choices[0].message.content, HELLO)


def stream():
    cities = list(client.create_partial(model=MODEL, messages=[user("Name a city.")], response_model=City, max_retries=0))
    assert cities[-1].country


def image_input():
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    assert client.create(model=MODEL, messages=[user(content)], response_model=City, max_retries=0)


def mode(name):
    return lambda: structured(instructor.from_openai(OpenAI(), mode=getattr(instructor.Mode, name)))


check("chat", plain)
check("stream", stream)
check("tools", mode("TOOLS"))
check("structured output", lambda: structured(client))
check("image input", image_input)
not_offered("image output")
check("errors", lambda: expect_error(lambda: client.create(model="x", messages=[user("x")], response_model=City, max_retries=0), "model_not_found"))
check("Mode.TOOLS_STRICT", mode("TOOLS_STRICT"))
