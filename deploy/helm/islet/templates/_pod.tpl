{{/* The pod of both kinds. */}}
{{- define "islet.pod" -}}
{{- $ports := include "islet.ports" . | fromYaml -}}
{{- $scheme := ternary "HTTPS" "HTTP" (not (empty .Values.tls.existingSecret)) -}}
metadata:
  labels:
    {{- include "islet.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A change of the configuration restarts the pods.
    checksum/config: {{ include "islet.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "islet.serviceAccountName" . }}
  automountServiceAccountToken: false
  # Variables of a Service named islet would begin with ISLET_, as those of the configuration do.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  containers:
    - name: islet
      image: {{ include "islet.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/islet/islet.yaml]
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      env:
        - name: ISLET_LOG_LEVEL
          value: {{ .Values.log.level }}
        - name: ISLET_LOG_FORMAT
          value: {{ .Values.log.format }}
        {{- if not (include "islet.isPostgreSQL" .) }}
        # SQLite sorts large indexes in this folder, and not in the small one for temporary files.
        - name: SQLITE_TMPDIR
          value: /var/lib/islet
        {{- end }}
        {{- if include "islet.hasNodes" . }}
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        - name: ISLET_NODES_ADDRESS
          value: http://$(POD_IP):{{ $ports.nodes }}
        {{- end }}
        {{- with .Values.storage.postgresql }}
        {{- if .urlSecret.name }}
        - name: ISLET_STORAGE
          valueFrom:
            secretKeyRef:
              {{- toYaml .urlSecret | nindent 14 }}
        {{- end }}
        {{- if .passwordSecret.name }}
        - name: PGPASSWORD
          valueFrom:
            secretKeyRef:
              {{- toYaml .passwordSecret | nindent 14 }}
        {{- end }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: {{ $ports.http }}
        {{- if include "islet.hasNodes" . }}
        - name: nodes
          containerPort: {{ $ports.nodes }}
        {{- end }}
        - name: metrics
          containerPort: {{ $ports.metrics }}
      # The port of the metrics has connections of its own, so a crowd of callers fails no probe.
      startupProbe:
        httpGet:
          path: /healthz
          port: metrics
          scheme: {{ $scheme }}
        periodSeconds: 2
        failureThreshold: {{ max 1 (div (int .Values.startupSeconds) 2) }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
          scheme: {{ $scheme }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
          scheme: {{ $scheme }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          # The server refuses connections as soon as it is asked to stop. Until then callers still get to this pod.
          sleep:
            seconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: configuration
          mountPath: /etc/islet
          readOnly: true
        - name: temporary
          mountPath: /tmp
        {{- if not (include "islet.isPostgreSQL" .) }}
        - name: data
          mountPath: /var/lib/islet
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: configuration
      projected:
        # The group is fsGroup. The server refuses a ring that others may read.
        defaultMode: 0440
        sources:
          - configMap:
              name: {{ include "islet.fullname" . }}
          {{- if .Values.tokenKeys.existingSecret }}
          - secret:
              name: {{ .Values.tokenKeys.existingSecret }}
              items:
                - key: {{ .Values.tokenKeys.key }}
                  path: token-keys.json
          {{- end }}
          {{- if .Values.tls.existingSecret }}
          - secret:
              name: {{ .Values.tls.existingSecret }}
              items:
                - key: tls.crt
                  path: tls.crt
                - key: tls.key
                  path: tls.key
          {{- end }}
          {{- range .Values.files }}
          {{- if .secret }}
          - secret:
              name: {{ .secret }}
          {{- else }}
          - configMap:
              name: {{ .configMap }}
          {{- end }}
          {{- end }}
    - name: temporary
      emptyDir:
        sizeLimit: 64Mi
    {{- if and (not (include "islet.isPostgreSQL" .)) .Values.storage.sqlite.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.storage.sqlite.existingClaim }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if include "islet.hasNodes" . }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      # Not DoNotSchedule: in a small cluster an upgrade starts a node beside the old ones.
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "islet.selectorLabels" $ | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
{{- end -}}
