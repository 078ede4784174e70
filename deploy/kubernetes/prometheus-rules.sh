#!/bin/sh
# Prints the recording rules and alerts of deploy/prometheus as PrometheusRule objects, one for each file:
#
#   deploy/kubernetes/prometheus-rules.sh | kubectl apply --namespace quintet --filename -
#   deploy/kubernetes/prometheus-rules.sh > my-overlay/prometheus-rules.yaml      # for kustomize or a GitOps repository
#
# kustomize reads no files above its own directory and can't put a file's content into a field, and a second copy of every
# rule would soon differ. What a rule file holds is just what stands under `spec`, so it is indented and given a head.
# RULE_LABELS: what your Prometheus selects rules by, e.g. RULE_LABELS='release: kube-prometheus-stack'.
set -eu
prometheus=${1:-"$(dirname "$0")/../prometheus"}
found=0
for file in "$prometheus"/rules/*.yml "$prometheus"/alerts/*.yml; do
  [ -e "$file" ] || continue
  found=1
  kind=$(basename "$(dirname "$file")")
  name=$(basename "$file" .yml | tr '_' '-')
  printf -- '---\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n'
  printf '  name: quintet-%s-%s\n  labels:\n    app.kubernetes.io/part-of: quintet\n' "$kind" "$name"
  if [ -n "${RULE_LABELS:-}" ]; then printf '    %s\n' "$RULE_LABELS"; fi
  printf 'spec:\n'
  # A line of an alert's text that is blank stays blank; the mark of a document's start would end ours.
  sed -e '/^---/d' -e 's/^\(.\)/  \1/' "$file"
done
if [ "$found" = 0 ]; then
  echo "prometheus-rules.sh: no rules/*.yml or alerts/*.yml in $prometheus; name the directory as the argument" >&2
  exit 1
fi
