{{/* The environment of a component. A missing password keeps the pod from starting; share links are optional. */}}
{{- define "footfall.env" -}}
{{- $secret := .secret | default (include "footfall.secretName" .root) -}}
{{- range (include "footfall.passwords" . | fromJsonArray) }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ . }}}}
{{- end }}
{{- if and (eq .component "reader") (not (include "footfall.given" (dict "root" .root "component" "reader" "name" "FOOTFALL_ACCESS_SHARE_SECRETS"))) }}
- name: FOOTFALL_ACCESS_SHARE_SECRETS
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: FOOTFALL_ACCESS_SHARE_SECRETS, optional: true}}
{{- end }}
{{- with .values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What all pods have: one static binary that writes no file, as a user without rights. */}}
{{- define "footfall.podSecurity" -}}
# Services called footfall-… would become variables FOOTFALL_…, and footfall refuses those that it does not know.
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .root.Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "footfall.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Which certificates a component has, by folder and Secret. */}}
{{- define "footfall.certificates" -}}
{{- $tls := .root.Values.tls -}}
{{- $kafka := and (has .component (list "producer" "consumer")) $tls.kafka.enabled -}}
{{- $store := or (has .component (list "consumer" "reader" "migrate")) (include "footfall.links" .root) -}}
{{- $found := dict -}}
{{- if and $kafka $tls.kafka.secret }}{{ $_ := set $found "kafka" $tls.kafka.secret }}{{ end -}}
{{- if and $store $tls.cassandra.enabled $tls.cassandra.secret }}{{ $_ := set $found "cassandra" $tls.cassandra.secret }}{{ end -}}
{{- with get $tls .component }}{{ with .secret }}{{ $_ := set $found "http" . }}{{ end }}{{ end -}}
{{- toJson $found -}}
{{- end }}

{{- define "footfall.mounts" -}}
- {name: config, mountPath: /etc/footfall, readOnly: true}
{{- range $name, $secret := (include "footfall.certificates" . | fromJson) }}
- {name: tls-{{ $name }}, mountPath: /etc/footfall-tls/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "footfall.volumes" -}}
- name: config
  configMap: {name: {{ include "footfall.fullname" .root }}-{{ .component }}}
{{- range $name, $secret := (include "footfall.certificates" . | fromJson) }}
- name: tls-{{ $name }}
  secret: {secretName: {{ $secret }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* The pod of a process that runs for ever. Probes ask the operators' listener: clients cannot use up its connections. */}}
{{- define "footfall.pod" -}}
metadata:
  labels: {{- include "footfall.labels" . | nindent 4 }}
  annotations:
    # A new configuration is a new pod.
    checksum/config: {{ include (printf "footfall.config.%s" .component) .root | sha256sum }}
    {{- if and (not .root.Values.secret.name) .root.Values.secret.values }}
    checksum/secret: {{ toJson .root.Values.secret.values | sha256sum }}
    {{- end }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "footfall.podSecurity" . | nindent 2 }}
  {{- with .values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "footfall.selector" $ | nindent 10 }}
      # Without the pods that a rollout is about to remove.
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "footfall.image" . }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [--config, /etc/footfall/{{ .component }}.yaml]
      {{- with include "footfall.env" . | trim }}
      env: {{- . | nindent 8 }}
      {{- end }}
      ports:
        {{- range $name, $port := .ports }}
        - {name: {{ $name }}, containerPort: {{ $port }}}
        {{- end }}
      # A process may wait for Kafka or Cassandra when it starts.
      startupProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 150
      # Alive: it answers. A Kafka or Cassandra that is away is no reason to start it anew.
      livenessProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 10
        timeoutSeconds: 4
        failureThreshold: 6
      # Ready: it can work.
      readinessProbe:
        httpGet: {path: /readyz, port: admin}
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 3
      {{- if .values.service }}
      # Load balancers need a moment to hear that the pod goes; until then it takes requests as before.
      lifecycle: {preStop: {sleep: {seconds: 5}}}
      {{- end }}
      resources: {{- toYaml .values.resources | nindent 8 }}
      {{- include "footfall.containerSecurity" . | nindent 6 }}
      volumeMounts: {{- include "footfall.mounts" . | nindent 8 }}
  volumes: {{- include "footfall.volumes" . | nindent 4 }}
{{- end }}

{{/* What goes with every such process: its configuration, a budget for evictions, and a Service for metrics. */}}
{{- define "footfall.around" -}}
{{- $name := printf "%s-%s" (include "footfall.fullname" .root) .component -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  labels: {{- include "footfall.labels" . | nindent 4 }}
data:
  {{ .component }}.yaml: |
    {{- include (printf "footfall.config.%s" .component) .root | nindent 4 }}
---
# For metrics alone, so that the public Service never shows them.
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-admin
  labels:
    {{- include "footfall.labels" . | nindent 4 }}
    # The job of all metrics.
    footfall/job: {{ $name }}
spec:
  clusterIP: None
  # Pods that are not ready have something to tell.
  publishNotReadyAddresses: true
  selector: {{- include "footfall.selector" . | nindent 4 }}
  ports:
    - {name: admin, port: {{ .ports.admin }}, targetPort: admin}
{{- if .values.podDisruptionBudget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "footfall.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready does not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "footfall.selector" . | nindent 6 }}
{{- end }}
{{- if .values.service }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "footfall.labels" . | nindent 4 }}
  {{- with .values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector: {{- include "footfall.selector" . | nindent 4 }}
  ports:
    - {name: http, port: {{ .values.service.port }}, targetPort: http}
{{- end }}
{{- end }}
