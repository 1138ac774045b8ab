#!/usr/bin/env bash
# Checks everything in deploy/ with the validators that are installed, and lists those that are missing.
#
#   deploy/check.sh          missing validators are skipped
#   deploy/check.sh --all    missing validators are an error
#
# kubeconform fetches its schemas. To use a local copy: KUBECONFORM_SCHEMAS='/path/{{ .ResourceKind }}{{ .KindSuffix }}.json'
set -uo pipefail
cd "$(dirname "$0")" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=()
missing=()

# check NAME COMMAND…: prints the output of a command only if it fails.
check() {
  local name=$1
  shift
  if "$@" >"$scratch/output" 2>&1; then
    echo "ok      $name"
  else
    echo "FAILED  $name"
    sed 's/^/        /' "$scratch/output"
    failed+=("$name")
  fi
}

has() {
  command -v "$1" >/dev/null && return 0
  missing+=("$1")
  return 1
}

every_alert_has_a_runbook() {
  local status=0 alert
  for alert in $(sed -n 's/^ *- alert: //p' prometheus/alerts.yml); do
    grep -qx "## $alert" ../docs/alerts.md || { echo "docs/alerts.md has no section $alert" && status=1; }
    grep -q "alertname: $alert\$" prometheus/tests.yml || { echo "no test lets $alert fire" && status=1; }
  done
  for alert in $(sed -n 's/^## //p' ../docs/alerts.md); do
    grep -q -- "- alert: $alert\$" prometheus/alerts.yml || { echo "$alert is documented but not a rule" && status=1; }
  done
  return $status
}

every_error_code_exists() {
  local status=0 code
  for code in $(grep -oE 'code=~?"[a-z_|]+"' prometheus/alerts.yml | grep -oE '"[^"]+"' | tr -d '"' | tr '|' '\n' | sort -u); do
    grep -q "^  $code: " ../src/errors.ts || { echo "alerts.yml names $code, which src/errors.ts does not" && status=1; }
  done
  return $status
}

dashboard_queries_parse() {
  # Each query becomes a recording rule, with values for Grafana's variables. JSON is YAML.
  jq '{groups: [{name: "dashboard", rules: [
        [.panels[].targets[]?.expr] | to_entries[] | {
          record: "dashboard:query\(.key)",
          expr: (.value | gsub("\\$__rate_interval"; "1m") | gsub("\\$(job|instance|model)"; "x"))
        }]}]}' grafana/dashboard.json >"$scratch/dashboard.yml" && promtool check rules "$scratch/dashboard.yml"
}

# The chart's alerts and dashboard are links to those of deploy/, which Helm follows. A checkout without symbolic links, as on
# some Windows systems, has their paths instead.
chart_files_are() {
  cmp prometheus/alerts.yml "$1/files/alerts.yml" && cmp grafana/dashboard.json "$1/files/dashboard.json"
}

chart_packs_them() {
  helm package helm/tollgate --destination "$scratch" && tar -xzf "$scratch"/tollgate-*.tgz -C "$scratch" &&
    chart_files_are "$scratch/tollgate"
}

chart_renders() {
  helm template release helm/tollgate --kube-version 1.30.0 --values "$1" >"$scratch/$(basename "$1")"
}

chart_rejects() {
  ! helm template release helm/tollgate --kube-version 1.30.0 --set existingSecret=s --set "$1"
}

# The program is not installed here, so /bin/true replaces it. A setting that systemd ignores is a warning without an exit
# code, so whatever is printed about the unit counts as a failure.
unit_is_valid() {
  sed 's#^ExecStart=.*#ExecStart=/bin/true#' systemd/tollgate.service >"$scratch/tollgate.service" &&
    ! systemd-analyze verify "$scratch/tollgate.service" 2>&1 | grep tollgate.service &&
    systemd-analyze security --offline=yes --threshold=20 "$scratch/tollgate.service"
}

nginx_accepts() {
  printf 'pid %s/nginx.pid;\nerror_log stderr;\nevents {}\nhttp { access_log off; include %s/nginx/tollgate.conf; }\n' \
    "$scratch" "$PWD" >"$scratch/nginx.conf" && nginx -t -c "$scratch/nginx.conf"
}

compose_is_valid() {
  POSTGRES_PASSWORD=x AUTH_SECRET=x GRAFANA_PASSWORD=x docker compose --file compose.yaml config --quiet
}

# A default inside the expansion would end at the first brace of the template.
custom_schemas='https://raw.githubusercontent.com/datreeio/CRDs-catalog/main/{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json'

check 'every alert has a runbook and a test' every_alert_has_a_runbook
check 'every error code in the alerts exists' every_error_code_exists
check "the chart's alerts and dashboard" chart_files_are helm/tollgate
if has promtool; then
  check 'prometheus.yml' promtool check config prometheus/prometheus.yml
  check 'alerts.yml' promtool check rules prometheus/alerts.yml
  check 'tests of the alerts' promtool test rules prometheus/tests.yml
  if has jq; then check 'queries of the dashboard' dashboard_queries_parse; fi
fi
if has helm; then
  check 'helm package' chart_packs_them
  for values in helm/tollgate/ci/*.yaml; do
    check "helm lint, $(basename "$values")" helm lint helm/tollgate --strict --values "$values"
    check "helm template, $(basename "$values")" chart_renders "$values"
    if has kubeconform; then
      check "schema, $(basename "$values")" kubeconform -strict \
        -schema-location "${KUBECONFORM_SCHEMAS:-default}" \
        -schema-location "${KUBECONFORM_SCHEMAS:-$custom_schemas}" \
        "$scratch/$(basename "$values")"
    fi
  done
  for wrong in env.DATABASE_URL=x env.OPENAI_API_KEY=x drain.second=1 ingress.enabled=true metrics.port=8080 workers=0 env.WORKERS=4; do
    check "the chart rejects $wrong" chart_rejects "$wrong"
  done
fi
if has hadolint; then check 'Dockerfile' hadolint Dockerfile; fi
if has docker && docker compose version >/dev/null 2>&1; then
  check 'compose.yaml' compose_is_valid
else
  missing+=('docker compose')
fi
if has systemd-analyze; then check 'tollgate.service' unit_is_valid; fi
if has haproxy; then check 'haproxy.cfg' haproxy -c -f haproxy/haproxy.cfg; fi
if has nginx; then check 'nginx/tollgate.conf' nginx_accepts; fi
if has actionlint; then check 'workflows' actionlint ../.github/workflows/*.yml; fi
if has shellcheck; then check 'scripts' shellcheck --exclude=SC2013 check.sh ../.github/licences.sh; fi

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u | sed '/^$/d')
[ ${#missing[@]} -eq 0 ] || echo "Not installed: $(printf '%s, ' "${missing[@]}" | sed 's/, $//')"
[ ${#failed[@]} -eq 0 ] || exit 1
if [ "${1:-}" = --all ] && [ ${#missing[@]} -gt 0 ]; then exit 1; fi
