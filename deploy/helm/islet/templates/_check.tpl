{{/*
Fails with everything that cannot work. The schema of the values says which types they have; what depends on several
values is here.
*/}}
{{- define "islet.check" -}}
{{- $problems := list -}}
{{- $storage := .Values.storage -}}
{{- $postgresql := $storage.postgresql -}}
{{- $replicas := include "islet.replicas" . | int -}}
{{- if not .Values.image.repository -}}
{{- $problems = append $problems "image.repository is missing: no image of Islet is published, so push the one of script/package to a registry and name it here" -}}
{{- end -}}
{{- if not .Values.config.apps -}}
{{- $problems = append $problems "config.apps is missing: name at least one app with its key and its activities" -}}
{{- end -}}
{{- range $key, $value := dict "listen" "service and ingress" "storage" "storage" "tokenKeys" "tokenKeys" "tls" "tls.existingSecret" "nodes" "storage.kind" -}}
{{- if hasKey $.Values.config $key -}}
{{- $problems = append $problems (printf "config.%s is set by the chart: remove it, and use %s" $key $value) -}}
{{- end -}}
{{- end -}}
{{- if and (kindIs "map" .Values.config.metrics) (hasKey (.Values.config.metrics | default dict) "listen") -}}
{{- $problems = append $problems "config.metrics.listen is set by the chart: remove it" -}}
{{- end -}}
{{- if regexMatch "PRIVATE KEY|whsec_[A-Za-z0-9+/]" (toYaml .Values.config) -}}
{{- $problems = append $problems "config contains a key or a secret, and everybody who reads the ConfigMap or the release reads it: put it into a Secret, and name that under files" -}}
{{- end -}}
{{- if and (regexMatch "(keyFile|secretFile|contract|trustRoots): *[^ ]" (toYaml .Values.config)) (not .Values.files) -}}
{{- $problems = append $problems "config names files, but files is empty: name the Secrets and ConfigMaps that hold them" -}}
{{- end -}}
{{- if eq $storage.kind "sqlite" -}}
{{- if gt $replicas 1 -}}
{{- $problems = append $problems (printf "replicas is %d, and a SQLite database has one server: set replicas to 1, or storage.kind to postgresql" $replicas) -}}
{{- end -}}
{{- range $name, $given := dict "url" $postgresql.url "urlSecret" $postgresql.urlSecret.name "passwordSecret" $postgresql.passwordSecret.name -}}
{{- if $given -}}
{{- $problems = append $problems (printf "storage.kind is sqlite, but storage.postgresql.%s is set: choose one database" $name) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- if $storage.sqlite.existingClaim -}}
{{- $problems = append $problems "storage.kind is postgresql, but storage.sqlite.existingClaim is set: choose one database" -}}
{{- end -}}
{{- if and $postgresql.url $postgresql.urlSecret.name -}}
{{- $problems = append $problems "storage.postgresql.url and urlSecret are both set: give one" -}}
{{- else if not (or $postgresql.url $postgresql.urlSecret.name) -}}
{{- $problems = append $problems "the database is missing: give storage.postgresql.url, or urlSecret" -}}
{{- end -}}
{{- if $postgresql.url -}}
{{- if not (regexMatch "^postgres(ql)?://" $postgresql.url) -}}
{{- $problems = append $problems "storage.postgresql.url is postgres://user@host/database" -}}
{{- else if or (regexMatch "^[a-z]+://[^/@]*:[^/@]*@" $postgresql.url) (regexMatch "[?&]password=" $postgresql.url) -}}
{{- $problems = append $problems "storage.postgresql.url contains a password: put it into a Secret, and name that in passwordSecret" -}}
{{- end -}}
{{- end -}}
{{- if not .Values.tokenKeys.existingSecret -}}
{{- $problems = append $problems "tokenKeys.existingSecret is missing: with PostgreSQL the ring of token keys is yours; `islet keys new-ring` prints one" -}}
{{- end -}}
{{- if and .Values.tls.existingSecret (gt $replicas 1) -}}
{{- $problems = append $problems (printf "tls.existingSecret with %d replicas: nodes would call each other over TLS at addresses that are in no certificate. Let the ingress end TLS, or set replicas to 1" $replicas) -}}
{{- end -}}
{{- end -}}
{{- if .Values.autoscaling -}}
{{- $problems = append $problems "autoscaling cannot work: one server decides and pushes. More replicas with PostgreSQL keep the service up, and make it no faster" -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if regexMatch "^ISLET_(LISTEN|STORAGE|TLS_.*|TOKEN_KEYS_.*|NODES_.*|METRICS_LISTEN|LOG_.*)$" .name -}}
{{- $problems = append $problems (printf "extraEnv sets %s, which the chart decides: use its values" .name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- $problems = append $problems "ingress.host is missing: the console needs a host name of its own" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{- $metrics := include "islet.config" . | fromYaml | dig "metrics" dict -}}
{{- if not (dig "served" true $metrics) -}}
{{- $problems = append $problems "serviceMonitor.enabled, but config.metrics turns the metrics off" -}}
{{- else if dig "needsKey" false $metrics -}}
{{- $problems = append $problems "serviceMonitor.enabled, but config.metrics.needsKey asks Prometheus for an API key: remove it, and limit callers with networkPolicy.metricsFrom" -}}
{{- end -}}
{{- end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) 40 -}}
{{- $problems = append $problems "terminationGracePeriodSeconds is below 40: the server needs up to 38 s to stop" -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "these values cannot work:\n  - %s" (join "\n  - " $problems)) -}}
{{- end -}}
{{- end -}}
