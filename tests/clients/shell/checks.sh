# What the scripts share: one line of JSON per check, as scripts/test-clients.ts reads it.
hello=Hello
# The sandbox calls a tool when it is told to.
weather='[[tool get_weather]] How is the weather in Oslo?'
pixel=data:image/png\;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==

# check NAME PART COMMAND…: what the command prints has to contain this part.
check() {
  name=$1 part=$2
  shift 2
  output=$("$@" 2>&1 </dev/null)
  case $output in
    *"$part"*) report "$name" works ;;
    *) refused "$name" "$output" ;;
  esac
}

not_offered() {
  for name in "$@"; do report "$name" 'not offered'; done
}

refused() {
  code=$(printf '%s' "$2" | grep -oE "['\"]code['\"]: ?['\"][a-z_]+" | head -n 1 | grep -oE '[a-z_]+$')
  param=$(printf '%s' "$2" | grep -oE "['\"]param['\"]: ?['\"][^'\"]+" | head -n 1 | sed -E "s/.*['\"]//")
  if [ -n "$code" ]; then report "$1" refused "$2" "$code" "$param"; else report "$1" failed "$2"; fi
}

report() {
  detail=$(printf '%s' "${3-}" | tr -d '"\\' | tr -c '[:print:]' ' ' | tail -c 400)
  quoted=$(printf '%s' "$1" | sed 's/"/\\"/g')
  printf '{"check":"%s","outcome":"%s","detail":"%s","code":"%s","param":"%s"}\n' "$quoted" "$2" "$detail" "${4-}" "${5-}"
}
