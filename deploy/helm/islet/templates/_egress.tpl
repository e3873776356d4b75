{{/* The ports of a URL with one or several hosts, as a YAML list. */}}
{{- define "islet.portsOf" -}}
{{- $default := .default -}}
{{- $hosts := regexReplaceAll "^[A-Za-z]+://([^@/?#]*@)?([^/?#]*).*$" .url "${2}" -}}
{{- range splitList "," $hosts }}
- {{ regexFind ":[0-9]+$" . | trimPrefix ":" | default $default }}
{{- end -}}
{{- end -}}

{{/* The ports to which the server connects, apart from other nodes and name servers, as a YAML list. */}}
{{- define "islet.egressPorts" -}}
{{- $ports := list 443 -}}
{{- $urls := list -}}
{{- range .Values.config.apps -}}
{{- range $environment, $key := .apns -}}
{{- $urls = concat $urls (list $key.endpoint $key.channelEndpoint) -}}
{{- end -}}
{{- $urls = append $urls (dig "people" "jwks" "url" "" .) -}}
{{- range .activities -}}
{{- $urls = append $urls (dig "provider" "url" "" .) -}}
{{- if has (dig "policy" "delivery" "token" .) (list "channel" "auto") -}}
{{- $ports = concat $ports (list 2195 2196) -}}
{{- end -}}
{{- end -}}
{{- range .webhooks -}}
{{- $urls = append $urls .url -}}
{{- end -}}
{{- end -}}
{{- $urls = append $urls (dig "tracing" "endpoint" "" .Values.config) -}}
{{- range compact $urls -}}
{{- $ports = concat $ports (dict "url" . "default" (ternary 80 443 (hasPrefix "http://" .)) | include "islet.portsOf" | fromYamlArray) -}}
{{- end -}}
{{- if include "islet.isPostgreSQL" . -}}
{{- if .Values.storage.postgresql.url -}}
{{- $ports = concat $ports (dict "url" .Values.storage.postgresql.url "default" 5432 | include "islet.portsOf" | fromYamlArray) -}}
{{- else -}}
{{- $ports = concat $ports .Values.networkPolicy.databasePorts -}}
{{- end -}}
{{- end -}}
{{- $numbers := list -}}
{{- range $ports -}}
{{- $numbers = append $numbers (int .) -}}
{{- end -}}
{{- range uniq $numbers }}
- {{ . }}
{{- end -}}
{{- end -}}
