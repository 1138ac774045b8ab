"""What the scripts share: one line of JSON per check, as scripts/test-clients.ts reads it."""
import json
import os
import re

MODEL = os.environ["MODEL"]
IMAGE_MODEL = os.environ["IMAGE_MODEL"]
MESSAGES_MODEL = os.environ["MESSAGES_MODEL"]
RESPONSES_MODEL = os.environ["RESPONSES_MODEL"]
HELLO = "Hello"
# The sandbox calls a tool when it is told to.
WEATHER = "[[tool get_weather]] How is the weather in Oslo?"
TWO_TOOLS = "[[tools 2]] How is the weather in Oslo, and what time is it?"
REASONED_WEATHER = f"[[reasoning 20]] {WEATHER}"
# The check that scripts/test-clients.ts confirms with what the provider got.
REPLAY = "reasoning sent back"
RESULTS = {"get_weather": "sunny", "get_time": "noon"}
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def check(name, run):
    """`run` returns normally when the client got what it asked for. A name that is no column is listed below the matrix."""
    try:
        run()
        report(name, outcome="works")
    except Exception as error:
        report(name, **described(error))


def not_offered(*names):
    for name in names:
        report(name, outcome="not offered")


def expect(text, part):
    if part not in str(text):
        raise AssertionError(f"expected {part!r} in {str(text)!r}")


def expect_error(run, code):
    """The client has to raise an error from which its user learns the code."""
    try:
        run()
    except Exception as error:
        found = described(error)
        if found.get("code") != code:
            raise AssertionError(f"expected {code} in {error!r}") from None
    else:
        raise AssertionError("no error was raised")


def report(name, **fields):
    print(json.dumps({"check": name, **fields}), flush=True)


def described(error):
    """The gateway's error inside whatever a framework wrapped it in."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        text = f"{error} {getattr(error, 'body', '')}"
        code = re.search(r"""["']code["']: ?["'](\w+)["']""", text)
        if code:
            param = re.search(r"""["']param["']: ?["']([^"']+)["']""", text)
            return {"outcome": "refused", "code": code[1], "param": param and param[1], "detail": str(error)[:300]}
        error = error.__cause__ or error.__context__
    return {"outcome": "failed", "detail": f"{type(seen[0]).__name__}: {seen[0]}"[:500]}
