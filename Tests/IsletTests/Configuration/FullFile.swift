import HTTP2TestServer

/// A configuration with every existing key.
enum FullFile {
    static let yaml = """
        listen: "[::1]:9090"
        storage: sqlite:data/state.db
        tokenKeys: {environment: TOKEN_KEYS}
        tls: {certificate: islet.crt, key: islet.key}
        limits: {requestsPerSecond: 500, requestsPerSecondPerDevice: "off", openRequests: 100, connections: 200,
                 connectionsPerAddress: 20, joinsPerMinutePerAddress: 30}
        metrics: {served: false, listen: "127.0.0.1:9191", needsKey: true}
        console: false
        connections: {maximum: 4, idleLifetime: 10m, queuedPushes: 5000}
        keep: {historyDays: 3, endedDays: 14, signedOutDays: 2, silentDays: 90, credentialDays: 30, eventDays: 5}
        tracing: {endpoint: "http://127.0.0.1:4318/v1/traces", share: 0.25}
        refreshesPerSecond: 7
        apps:
          - bundleID: com.acme.pizza
            apns:
              sandbox:
                keyFile: key.p8
                keyID: ABC123DEFG
                teamID: XYZ987MNOP
                endpoint: https://127.0.0.1:2197
                trustRoots: ca.pem
              production:
                keyEnvironment: APNS_KEY
                keyID: "1234567890"
                teamID: XYZ987MNOP
            people:
              issuers: [https://id.acme.com]
              audience: pizza
              jwks: {url: "http://127.0.0.1:9/jwks.json", refresh: 5m, allowPrivate: true}
              algorithms: [ES256, EdDSA]
              user: /app/user
              leeway: 30s
            activities:
              - type: Order
                attributesType: OrderAttributes
                activityIDAttribute: /orderId
                contract: order-contract.json
                policy:
                  endAfter: 6h
                  coalescingWindow: 1.5
                  startGrace: 0s
                  startWindow: 2m
                  startStaleAfter: 600
                  staleAfter: 2h
                  highPriorityInterval: 30s
                  highWhen: {pointer: /status, values: [ready, 2, true, null]}
                  startAlert: {title: {locKey: TITLE, locArgs: [a]}, body: "123", sound: default}
                  reusable: true
                  start: appOnly
                  restart: onAlert
                  dismissAfter: 30m
                  quietHours: {from: 22:00, to: 07:00, zone: Europe/Berlin, holdAlerts: true}
                  renewal: true
                  authority: app
                  join: open
                  atCeiling: endOldest
                  ceiling: 4
                  budgets:
                    highPerHour: 10
                    highPerDay: 100
                    frequentPerHour: 30
                    frequentPerDay: 300
                    startsPerHour: 5
                    startsPerDay: 20
                    reserve: 20
                provider:
                  url: http://127.0.0.1:8090/next-up
                  secretEnvironment: PROVIDER_SECRET
                  timeout: 5s
                  allowPrivate: true
                view:
                  title: "{/orderId}"
                  subtitle: "{/status|soon}"
                  progress: /progress
                  countdown: /eta
                  image: bicycle
            webhooks:
              - name: backend
                url: http://127.0.0.1:8091/events
                secretEnvironment: PROVIDER_SECRET
                kinds: [dismissed, token-dead]
                timeout: 3s
                allowPrivate: true
              - {name: audit, url: "https://audit.acme.com/islet", secretEnvironment: PROVIDER_SECRET}
        """

    /// Writes the files that the configuration names.
    static func writeFiles(into folder: Folder) throws {
        try folder.write(contract, to: "order-contract.json")
        let identity = try TestAuthority().makeIdentity()
        try folder.write(identity.certificate, to: "islet.crt")
        try folder.write(identity.key, to: "islet.key")
    }

    /// The content of `order-contract.json`.
    static let contract = #"""
        {"attributesType": "OrderAttributes", "contentState": {"type": "object", "required": ["status"], "properties": {
          "status": {"type": "string"}, "eta": {"type": ["number", "null"], "x-swift": "Date"}}}}
        """#
}
