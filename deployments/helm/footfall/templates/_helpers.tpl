{{/* What all names begin with. Services have 63 characters, of which -producer-admin takes 15. */}}
{{- define "footfall.fullname" -}}
{{- $name := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-footfall" .Release.Name) (contains "footfall" .Release.Name)) -}}
{{- if gt (len $name) 48 }}{{ fail (printf "the name %q is too long: set fullnameOverride, at most 48 characters" $name) }}{{ end -}}
{{- $name -}}
{{- end }}

{{/* Labels by which Services and policies find the pods of a component. They never change: selectors of Deployments are immutable. */}}
{{- define "footfall.selector" -}}
app.kubernetes.io/name: footfall
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "footfall.labels" -}}
{{ include "footfall.selector" . }}
app.kubernetes.io/version: {{ include "footfall.tag" . | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "footfall.tag" -}}
{{- $own := "" -}}
{{- with index .root.Values .component }}{{ $own = .tag }}{{ end -}}
{{- $own | default .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- end }}

{{- define "footfall.image" -}}
{{ .root.Values.image.repository }}-{{ .component }}:{{ include "footfall.tag" . }}
{{- end }}

{{/* The Secret with passwords: the one that is there, or our own. */}}
{{- define "footfall.secretName" -}}
{{- .Values.secret.name | default (include "footfall.fullname" .) -}}
{{- end }}

{{/* Seconds of a duration such as 20s, 500ms or 1m30s, rounded up. */}}
{{- define "footfall.seconds" -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0) $unit)) -}}
{{- end -}}
{{- ceil $sum | int -}}
{{- end }}

{{/* Where pods find certificates. */}}
{{- define "footfall.tls" -}}
{{- $at := printf "/etc/footfall-tls/%s" .name -}}
enabled: {{ .tls.enabled }}
{{- if and .tls.enabled .tls.secret }}
ca: {{ $at }}/ca.crt
{{- if .tls.client }}
cert: {{ $at }}/tls.crt
key: {{ $at }}/tls.key
{{- end }}
{{- end }}
{{- end }}

{{- define "footfall.kafka" -}}
brokers: {{ toJson .Values.config.kafka.brokers }}
topics: {{ toJson .Values.config.kafka.topics }}
sasl: {{ toJson .Values.config.kafka.sasl }}
tls: {{- include "footfall.tls" (dict "name" "kafka" "tls" .Values.tls.kafka) | nindent 2 }}
{{- end }}

{{- define "footfall.cassandra" -}}
{{ toYaml .Values.config.cassandra }}
tls: {{- include "footfall.tls" (dict "name" "cassandra" "tls" .Values.tls.cassandra) | nindent 2 }}
{{- end }}

{{/* Short links are the producer's only use of Cassandra. */}}
{{- define "footfall.links" -}}
{{- if dig "links" "enabled" false .Values.config.producer }}true{{ end -}}
{{- end }}

{{/* The configuration files. What the chart decides wins over what values say. */}}
{{- define "footfall.config.producer" -}}
{{- $http := dict "addr" ":8080" "admin_addr" ":8083" -}}
{{- if .Values.tls.producer.secret }}{{ $_ := set $http "tls" (dict "cert" "/etc/footfall-tls/http/tls.crt" "key" "/etc/footfall-tls/http/tls.key") }}{{ end -}}
{{- $ours := dict "http" $http "features" .Values.config.features "log" .Values.config.log "kafka" (include "footfall.kafka" . | fromYaml) -}}
{{- $_ := set $ours.kafka "partitions" .Values.partitions -}}
{{- if include "footfall.links" . }}{{ $_ := set $ours "cassandra" (include "footfall.cassandra" . | fromYaml) }}{{ end -}}
{{- mergeOverwrite (deepCopy .Values.config.producer) $ours | toYaml -}}
{{- end }}

{{- define "footfall.config.consumer" -}}
{{- $ours := dict "http" (dict "addr" ":8081") "features" .Values.config.features "log" .Values.config.log -}}
{{- $_ := set $ours "kafka" (include "footfall.kafka" . | fromYaml) -}}
{{- $_ := set $ours "cassandra" (include "footfall.cassandra" . | fromYaml) -}}
{{- mergeOverwrite (deepCopy .Values.config.consumer) $ours | toYaml -}}
{{- end }}

{{- define "footfall.config.reader" -}}
{{- $http := dict "addr" ":8082" "admin_addr" ":8084" -}}
{{- if .Values.tls.reader.secret }}{{ $_ := set $http "tls" (dict "cert" "/etc/footfall-tls/http/tls.crt" "key" "/etc/footfall-tls/http/tls.key") }}{{ end -}}
{{- $ours := dict "http" $http "log" .Values.config.log "kafka" (dict "topics" (omit .Values.config.kafka.topics "dead")) -}}
{{- $_ := set $ours "cassandra" (include "footfall.cassandra" . | fromYaml) -}}
{{- mergeOverwrite (deepCopy .Values.config.reader) $ours | toYaml -}}
{{- end }}

{{/* Whether the values of a component bring a variable themselves: then the chart leaves it out, for a name may be there once only. */}}
{{- define "footfall.given" -}}
{{- $name := .name -}}
{{- range (index .root.Values .component).env }}{{ if eq .name $name }}true{{ end }}{{ end -}}
{{- end }}

{{/* Which passwords a component needs of the Secret: names of environment variables, as a JSON list. */}}
{{- define "footfall.passwords" -}}
{{- $v := .root.Values -}}
{{- $all := list -}}
{{- if and (has .component (list "producer" "consumer")) $v.config.kafka.sasl.mechanism }}{{ $all = append $all "FOOTFALL_KAFKA_SASL_PASSWORD" }}{{ end -}}
{{- $store := or (has .component (list "consumer" "reader" "migrate")) (include "footfall.links" .root) -}}
{{- if and $store $v.config.cassandra.username }}{{ $all = append $all "FOOTFALL_CASSANDRA_PASSWORD" }}{{ end -}}
{{- if and (eq .component "producer") (eq (dig "privacy" "ip" "raw" $v.config.producer) "hashed") }}{{ $all = append $all "FOOTFALL_PRIVACY_SECRET" }}{{ end -}}
{{- $needed := list -}}
{{- range $all }}{{ if not (include "footfall.given" (dict "root" $.root "component" $.component "name" .)) }}{{ $needed = append $needed . }}{{ end }}{{ end -}}
{{- toJson $needed -}}
{{- end }}
