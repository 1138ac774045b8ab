{{/* The pod of a gateway, the same in a Deployment and in a StatefulSet. */}}
{{- define "tollgate.pod" -}}
metadata:
  labels:
    {{- include "tollgate.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/component: gateway
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "tollgate.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add .Values.drain.delaySeconds .Values.drain.seconds .Values.drain.marginSeconds }}
  securityContext:
    {{- include "tollgate.podSecurityContext" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: gateway
      image: {{ include "tollgate.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      {{- include "tollgate.environment" . | trim | nindent 6 }}
        - name: HOST
          value: {{ .Values.host | quote }}
        - name: PORT
          value: "8080"
        - name: WORKERS
          value: {{ .Values.workers | quote }}
        - name: METRICS_PORT
          value: {{ .Values.metrics.port | quote }}
        - name: TOLLGATE_DATA
          value: /var/lib/tollgate
        {{- if include "tollgate.catalogConfigMap" . }}
        - name: TOLLGATE_CATALOG
          value: /etc/tollgate/catalog.yaml
        {{- end }}
        {{- if .Values.migrate.enabled }}
        - name: MIGRATE
          value: "off"
        {{- end }}
        - name: DRAIN_DELAY_SECONDS
          value: {{ .Values.drain.delaySeconds | quote }}
        - name: DRAIN_SECONDS
          value: {{ .Values.drain.seconds | quote }}
      ports:
        - name: http
          containerPort: 8080
        {{- range $index := until (int .Values.workers) }}
        - name: {{ include "tollgate.metricsPortName" $index }}
          containerPort: {{ add $.Values.metrics.port $index }}
        {{- end }}
      # Migrations and the first connection may take a while.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 90
      # A busy gateway still finishes its open requests, so it gets a minute before it is restarted.
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # A gateway that drains has to be noticed within DRAIN_DELAY_SECONDS.
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "tollgate.securityContext" . | nindent 8 }}
      volumeMounts:
        - name: spool
          mountPath: /var/lib/tollgate
        - name: tmp
          mountPath: /tmp
        {{- if include "tollgate.catalogConfigMap" . }}
        # The whole folder, because a file that is mounted by subPath never changes.
        - name: catalog
          mountPath: /etc/tollgate
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if not .Values.spool.persistence.enabled }}
    - name: spool
      emptyDir:
        sizeLimit: {{ .Values.spool.sizeLimit }}
    {{- end }}
    - name: tmp
      emptyDir:
        medium: Memory
        sizeLimit: 64Mi
    {{- with include "tollgate.catalogConfigMap" . }}
    - name: catalog
      configMap:
        name: {{ . }}
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
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tollgate.selectorLabels" . | nindent 10 }}
          app.kubernetes.io/component: gateway
    {{- end }}
{{- end }}
