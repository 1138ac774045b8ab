from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from checks import HELLO, IMAGE_MODEL, MODEL, PIXEL, WEATHER, check, expect, expect_error

client = OpenAI()  # reads OPENAI_BASE_URL and OPENAI_API_KEY


class GetWeather(BaseModel):
    city: str


class City(BaseModel):
    name: str
    country: str


tools = [pydantic_function_tool(GetWeather, name="get_weather")]


def user(content):
    return {"role": "user", "content": content}


def chat():
    completion = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": HELLO}])
    expect(completion.choices[0].message.content, HELLO)
    expect(completion._request_id, completion.id)


def stream():
    options = {"include_usage": True}
    text, tokens = "", 0
    for chunk in client.chat.completions.create(model=MODEL, messages=[user(HELLO)], stream=True, stream_options=options):
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        tokens = chunk.usage.total_tokens if chunk.usage else tokens
    expect(text, HELLO)
    assert tokens > 0


def use_tools(message):
    """Sends back the message exactly as the SDK returned it."""
    [call] = message.tool_calls
    assert GetWeather.model_validate_json(call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    answer = client.chat.completions.create(model=MODEL, messages=[user(WEATHER), message, result], tools=tools)
    expect(answer.choices[0].message.content, "sunny")


def tools_loop():
    use_tools(client.chat.completions.create(model=MODEL, messages=[user(WEATHER)], tools=tools).choices[0].message)
    parsed = client.chat.completions.parse(model=MODEL, messages=[user(WEATHER)], tools=tools)
    use_tools(parsed.choices[0].message)
    with client.chat.completions.stream(model=MODEL, messages=[user(WEATHER)], tools=tools) as events:
        use_tools(events.get_final_completion().choices[0].message)


def structured():
    completion = client.chat.completions.parse(model=MODEL, messages=[user("Name a city.")], response_format=City)
    assert isinstance(completion.choices[0].message.parsed, City)
    return completion.choices[0].message


def send_parsed_back():
    messages = [user("Name a city."), structured(), user(HELLO)]
    client.chat.completions.create(model=MODEL, messages=messages)


def image_input():
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    completion = client.chat.completions.create(model=MODEL, messages=[user(parts)])
    expect(completion.choices[0].message.content, "1 image")


def image_output():
    images = client.images.generate(model=IMAGE_MODEL, prompt="A gate at dawn", size="1024x1024")
    expect(images.data[0].url, "://")


def limited(**limit):
    completion = client.chat.completions.create(model=MODEL, messages=[user(HELLO)], **limit)
    assert completion.choices[0].finish_reason == "length"


check("chat", chat)
check("stream", stream)
check("tools", tools_loop)
check("structured output", structured)
check("image input", image_input)
check("image output", image_output)
check("errors", lambda: expect_error(lambda: client.chat.completions.create(model="x", messages=[user("x")]), "model_not_found"))
check("max_tokens=1", lambda: limited(max_tokens=1))
check("max_completion_tokens=1", lambda: limited(max_completion_tokens=1))
check("a parsed message sent back", send_parsed_back)
