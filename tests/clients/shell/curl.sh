. ./checks.sh

hello() {
  curl -s "$OPENAI_BASE_URL/chat/completions" \
    -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \
    -d '{"model": "sandbox-chat", "messages": [{"role": "user", "content": "Hello"}]}'
}
chat() {
  curl -sN "$OPENAI_BASE_URL/chat/completions" \
    -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \
    -d "{\"model\": \"$MODEL\", $1}"
}
user() { printf '{"role": "user", "content": %s}' "$1"; }

tool='{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}'
call='{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}'
format='{"type": "json_schema", "json_schema": {"name": "city", "schema": {"type": "object", "properties": {"country": {"type": "string"}}}}}'
parts="[{\"type\": \"text\", \"text\": \"What is this?\"}, {\"type\": \"image_url\", \"image_url\": {\"url\": \"$pixel\"}}]"
ask="\"messages\": [$(user "\"$hello\"")]"

check chat 'You said: Hello' hello
check stream 'data: [DONE]' chat "$ask, \"stream\": true"
check tools sunny chat "\"tools\": [$tool], \"messages\": [$(user "\"$weather\""), {\"role\": \"assistant\", \"content\": null, \"tool_calls\": [$call]}, {\"role\": \"tool\", \"tool_call_id\": \"call_1\", \"content\": \"sunny\"}]"
check 'structured output' country chat "$ask, \"response_format\": $format"
check 'image input' '1 image' chat "\"messages\": [$(user "$parts")]"
check 'image output' '"url":' curl -s "$OPENAI_BASE_URL/images/generations" \
  -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \
  -d "{\"model\": \"$IMAGE_MODEL\", \"prompt\": \"A gate at dawn\", \"size\": \"1024x1024\"}"
check errors '"code":"invalid_parameter"' chat "$ask, \"temperature\": 9"
