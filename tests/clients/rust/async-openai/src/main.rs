//! Prints one line of JSON per check, as scripts/test-clients.ts reads it.

use async_openai::{Client, config::OpenAIConfig, error::OpenAIError, types::chat::CreateChatCompletionRequest};
use futures::StreamExt;
use serde_json::{Value, from_value, json, to_value};
use std::env::var;

const HELLO: &str = "Hello";
/// The sandbox calls a tool when it is told to.
const WEATHER: &str = "[[tool get_weather]] How is the weather in Oslo?";
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Failure = Box<dyn std::error::Error>;
type Checked = Result<(), Failure>;

fn connect() -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new()
        .with_api_base(var("OPENAI_BASE_URL").unwrap())
        .with_api_key(var("OPENAI_API_KEY").unwrap());
    Client::with_config(config)
}

/// A request of the client's own type, with these fields and messages.
fn request(messages: Value, fields: Value) -> CreateChatCompletionRequest {
    let mut body = json!({ "model": var("MODEL").unwrap(), "messages": messages });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    from_value(body).unwrap()
}

fn user(content: Value) -> Value {
    json!([{ "role": "user", "content": content }])
}

/// The message that the model answers with.
async fn ask(messages: Value, fields: Value) -> Result<Value, Failure> {
    let completion = connect().chat().create(request(messages, fields)).await?;
    Ok(to_value(&completion.choices[0].message)?)
}

fn expect(text: &Value, part: &str) -> Checked {
    if text.to_string().contains(part) { Ok(()) } else { Err(format!("expected {part} in {text}").into()) }
}

async fn chat() -> Checked {
    expect(&ask(user(json!(HELLO)), json!({})).await?, HELLO)
}

async fn stream() -> Checked {
    let mut events = connect().chat().create_stream(request(user(json!(HELLO)), json!({}))).await?;
    let mut text = String::new();
    while let Some(chunk) = events.next().await {
        for choice in chunk?.choices {
            text += &choice.delta.content.unwrap_or_default();
        }
    }
    expect(&json!(text), HELLO)
}

async fn tools() -> Checked {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tools = json!({ "tools": [{ "type": "function", "function": { "name": "get_weather", "parameters": parameters } }] });
    let call = ask(user(json!(WEATHER)), tools.clone()).await?;
    let id = call["tool_calls"][0]["id"].clone();
    let result = json!({ "role": "tool", "tool_call_id": id, "content": "sunny" });
    let question = json!({ "role": "user", "content": WEATHER });
    expect(&ask(json!([question, call, result]), tools).await?, "sunny")
}

async fn structured() -> Checked {
    let schema = json!({ "type": "object", "properties": { "country": { "type": "string" } } });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "city", "schema": schema } });
    expect(&ask(user(json!("Name a city.")), json!({ "response_format": format })).await?, "country")
}

async fn image_input() -> Checked {
    let image = json!({ "type": "image_url", "image_url": { "url": PIXEL } });
    let parts = json!([{ "type": "text", "text": "What is this?" }, image]);
    expect(&ask(user(parts), json!({})).await?, "1 image")
}

async fn image_output() -> Checked {
    let body = json!({ "model": var("IMAGE_MODEL")?, "prompt": "A gate at dawn", "size": "1024x1024" });
    let images = connect().images().generate(from_value(body)?).await?;
    expect(&to_value(&*images.data[0])?, "://")
}

async fn errors() -> Checked {
    match ask(user(json!("x")), json!({ "model": "x" })).await {
        Ok(_) => Err("no error was returned".into()),
        Err(error) => expect(&described(&error)["code"], "model_not_found"),
    }
}

async fn limited(field: &str) -> Checked {
    ask(user(json!(HELLO)), json!({ field: 5 })).await.map(|_| ())
}

fn described(error: &Failure) -> Value {
    match error.downcast_ref::<OpenAIError>() {
        Some(OpenAIError::ApiError(response)) => {
            let error = &response.api_error;
            json!({ "outcome": "refused", "code": error.code, "param": error.param, "detail": error.message })
        }
        _ => json!({ "outcome": "failed", "detail": error.to_string() }),
    }
}

fn report(name: &str, checked: Checked) {
    let mut line = match checked {
        Ok(()) => json!({ "outcome": "works" }),
        Err(error) => described(&error),
    };
    line["check"] = json!(name);
    println!("{line}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    report("chat", chat().await);
    report("stream", stream().await);
    report("tools", tools().await);
    report("structured output", structured().await);
    report("image input", image_input().await);
    report("image output", image_output().await);
    report("errors", errors().await);
    report("max_tokens", limited("max_tokens").await);
    report("max_completion_tokens", limited("max_completion_tokens").await);
}
