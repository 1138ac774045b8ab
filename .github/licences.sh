#!/usr/bin/env bash
# Writes the SBOM of what is installed for production to sbom.json, and prints each package with its licence. Fails when one
# of them is not on the list.
set -euo pipefail
cd "$(dirname "$0")/.."
accepted='["MIT", "MIT-0", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Unlicense", "BlueOak-1.0.0", "CC0-1.0"]'

npm sbom --sbom-format=cyclonedx --sbom-type=application --omit=dev >sbom.json
licences='.components[] | {
  package: "\(.name)@\(.version)",
  licence: ([.licenses[]? | .license.id // .license.name // .expression] | join(", "))
}'
jq -r "$licences | \"\(.licence)\t\(.package)\"" sbom.json | sort
rejected=$(jq -r --argjson accepted "$accepted" "$licences | select(.licence as \$it | \$accepted | index(\$it) | not) | .package" sbom.json)
[ -z "$rejected" ] || { echo "Not accepted yet: $rejected" >&2 && exit 1; }
