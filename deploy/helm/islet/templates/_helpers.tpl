{{/* The ports of the container. */}}
{{- define "islet.ports" -}}
http: 8080
nodes: 8090
metrics: 9090
{{- end -}}

{{- define "islet.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "islet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "islet.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "islet.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "islet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "islet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "islet.labels" -}}
{{ include "islet.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "islet.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "islet.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "islet.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "islet.isPostgreSQL" -}}
{{- if eq .Values.storage.kind "postgresql" }}true{{ end -}}
{{- end -}}

{{- define "islet.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{- ternary 3 1 (eq .Values.storage.kind "postgresql") -}}
{{- else -}}
{{- int .Values.replicas -}}
{{- end -}}
{{- end -}}

{{/*
Not empty if the pods share the database as nodes. One pod is a node too, so that an upgrade can start the next one
beside it. With TLS nodes would call each other at addresses that are in no certificate.
*/}}
{{- define "islet.hasNodes" -}}
{{- if and (include "islet.isPostgreSQL" .) (not .Values.tls.existingSecret) }}true{{ end -}}
{{- end -}}

{{/* islet.yaml: the value `config`, with what the chart decides. */}}
{{- define "islet.config" -}}
{{- $ports := include "islet.ports" . | fromYaml -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "listen" (printf "0.0.0.0:%v" $ports.http) -}}
{{- if not (include "islet.isPostgreSQL" .) -}}
{{- $_ := set $config "storage" "sqlite:/var/lib/islet/islet.db" -}}
{{- else if .Values.storage.postgresql.url -}}
{{- $_ := set $config "storage" .Values.storage.postgresql.url -}}
{{- end -}}
{{- if .Values.tokenKeys.existingSecret -}}
{{- $_ := set $config "tokenKeys" (dict "file" "token-keys.json") -}}
{{- end -}}
{{- if .Values.tls.existingSecret -}}
{{- $_ := set $config "tls" (dict "certificate" "tls.crt" "key" "tls.key") -}}
{{- end -}}
{{- if include "islet.hasNodes" . -}}
{{- $_ := set $config "nodes" (dict "listen" (printf "0.0.0.0:%v" $ports.nodes)) -}}
{{- end -}}
{{- $metrics := $config.metrics | default dict -}}
{{- if kindIs "bool" $config.metrics -}}
{{- $metrics = dict "served" $config.metrics -}}
{{- end -}}
{{- $_ := set $metrics "listen" (printf "0.0.0.0:%v" $ports.metrics) -}}
{{- $_ := set $config "metrics" $metrics -}}
{{- toYaml $config -}}
{{- end -}}
