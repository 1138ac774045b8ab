. ./checks.sh

export OPENAI_API_BASE="$OPENAI_BASE_URL"

ask() {
  model=$1
  shift
  aider --model "openai/$model" --no-git --no-analytics --no-check-update --no-show-model-warnings \
    --no-pretty --yes-always --chat-history-file /dev/null --input-history-file /dev/null "$@"
}

check chat 'You said:' ask "$MODEL" --no-stream --message "$hello"
check stream 'You said:' ask "$MODEL" --message "$hello"
not_offered tools 'structured output' 'image input' 'image output'
check errors 'does not exist' ask x --no-stream --message "$hello"
