. ./checks.sh

export LLM_USER_PATH="$PWD/llm-settings"
mkdir -p "$LLM_USER_PATH"
cat > "$LLM_USER_PATH/extra-openai-models.yaml" <<YAML
- model_id: tollgate
  model_name: $MODEL
  api_base: $OPENAI_BASE_URL
  api_key_name: tollgate
  can_stream: true
  supports_tools: true
  supports_schema: true
  vision: true
- model_id: tollgate-unknown
  model_name: x
  api_base: $OPENAI_BASE_URL
  api_key_name: tollgate
YAML
llm keys set tollgate --value "$OPENAI_API_KEY"
printf '%s' "${pixel#*,}" | base64 -d > "$LLM_USER_PATH/pixel.png"

check chat "You said: $hello" llm -m tollgate --no-stream "$hello"
check stream "You said: $hello" llm -m tollgate "$hello"
check tools sunny llm -m tollgate "$weather" --functions 'def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"'
check 'structured output' country llm -m tollgate 'Name a city.' --schema 'name, country'
check 'image input' '1 image' llm -m tollgate 'What is this?' -a "$LLM_USER_PATH/pixel.png"
not_offered 'image output'
check errors 'This model does not exist' llm -m tollgate-unknown --no-stream "$hello"
check '-o max_tokens 1' You llm -m tollgate "$hello" -o max_tokens 1
