import APNSModel
import HTTPTypes
import HummingbirdTesting
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import NIOCore
import StorageSQL
import StorageSQLite
import Testing

@Suite struct OpenAPITests {
    private static let document = Described.document

    /// The methods of each path, according to the description.
    private static var described: Set<String> {
        var names: Set<String> = []
        for (path, item) in document.object?["paths"]?.object ?? [:] {
            for method in item.object?.keys ?? [] { names.insert("\(method.uppercased()) \(path)") }
        }
        return names
    }

    @Test func `every route is described, and nothing else is`() {
        #expect(Self.described == Set(Route.all.map(\.name)))
        #expect(Set(Operation.all.keys) == Set(Route.all.map(\.name)))
        #expect(Set(Operation.all.values.map(\.id)).count == Operation.all.count)
        for (path, item) in Self.document.object?["paths"]?.object ?? [:] {
            for (method, operation) in item.object ?? [:] {
                #expect(operation.object?["operationId"]?.string?.isEmpty == false, "\(method) \(path)")
                #expect(operation.object?["responses"]?.object?["200"] != nil, "\(method) \(path)")
            }
        }
    }

    @Test func `parameters are those of the path, the query and the headers that a route heeds`() {
        for route in Route.all {
            let pointer = JSONPointer(tokens: ["paths", route.path.description, route.method.rawValue.lowercased()])
            let parameters = Self.document[pointer.appending("parameters")]?.array ?? []
            func names(_ place: String) -> Set<String> {
                Set(parameters.filter { $0.object?["in"]?.string == place }.compactMap { $0.object?["name"]?.string })
            }
            let inPath = route.path.description.split(separator: "/").filter { $0.hasPrefix("{") }
            #expect(names("path") == Set(inPath.map { String($0.dropFirst().dropLast()) }), "\(route.name)")
            #expect(names("query") == Set(route.query), "\(route.name)")
            #expect((Self.document[pointer.appending("requestBody")] != nil) == (route.body != .none), "\(route.name)")
            let security = Self.document[pointer.appending("security")]?.array ?? []
            #expect(security.isEmpty == route.scopes.isEmpty, "\(route.name)")
        }
    }

    @Test func `every problem has its place, and every schema is referred to and complete`() {
        let all = Route.all.reduce(into: Set<Problem.Code>()) { $0.formUnion($1.problems) }
        // Codes of answers that precede routing.
        #expect(Set(Problem.Code.allCases).subtracting(all) == [.methodNotAllowed])
        let text = Self.document.text
        for name in Self.document.object?["components"]?.object?["schemas"]?.object?.keys ?? [] {
            #expect(text.contains("\"#/components/schemas/\(name)\"") || name.contains("Line"), "\(name)")
        }
    }

    @Test func `bodies of calls are closed wherever they are objects of the API`() {
        func check(_ schema: JSONValue, _ place: String) {
            if schema.object?["properties"] != nil {
                #expect(schema.object?["additionalProperties"] == false, "\(place)")
            }
            for (name, part) in schema.object?["properties"]?.object ?? [:] { check(part, "\(place)/\(name)") }
            for part in schema.object?["anyOf"]?.array ?? [] { check(part, place) }
            if let items = schema.object?["items"] { check(items, place) }
        }
        let schemas = Self.document.object?["components"]?.object?["schemas"]?.object ?? [:]
        var count = 0
        for (name, schema) in schemas where name.hasSuffix("Request") || ["Alert", "Fallback", "Words"].contains(name) {
            check(schema, name)
            count += 1
        }
        #expect(count == 17)
    }

    @Test func `every example has the form that the description gives it`() throws {
        let answers = SchemaCheck(document: Self.document, isStrict: true)
        for (path, item) in Self.document.object?["paths"]?.object ?? [:] {
            for (method, operation) in item.object ?? [:] {
                let name = "\(method) \(path)"
                for place in ["/requestBody", "/responses/200"] {
                    let media = operation[try JSONPointer(place)]?.object?["content"]?.object?["application/json"]
                    guard let media else { continue }
                    let problems = answers.problems(
                        media.object?["example"] ?? .null, media.object?["schema"] ?? .null)
                    #expect(problems.isEmpty || path == "/openapi.json", "\(name) \(place)")
                }
            }
        }
    }

    @Test func `the description is served to anybody and may be kept`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.call(.get, "/openapi.json", key: nil)
            #expect(reply.status == 200 && reply.json == Self.document)
            #expect(reply.headers[.cacheControl] == "public, max-age=3600")
            #expect(reply.headers[.contentType] == "application/json")
            #expect(try await fixture.call(.get, "/openapi.json?x=1", key: nil).code == "invalid_query")
        }
    }

    // MARK: - Examples

    private static let order = [
        "registerDevice", "reportPushToStartToken", "setActivity", "patchActivity", "changeAudience", "reportCard",
        "reportInventory", "viewActivity", "joinActivity", "viewTimeline", "listActivities", "diagnoseDevice",
        "notifyUser", "askRefresh", "askRefreshes", "viewRefresh", "batch", "endActivity", "deleteActivity",
        "revokeCredentials", "signOutDevice", "listWebhooks", "listDeadDeliveries", "replayDeliveries",
        "discardDeliveries", "enableWebhook", "readEvents",
        "listTypes", "tryPolicy",
        "listKeys", "overview", "listAlerts", "listNodes", "listChannels", "alive", "ready", "metrics", "describe",
    ]

    private static let app: AppSettings = {
        var policy = TypePolicy()
        policy.startAlert = AlertTemplate(PushAlert(title: .text("Your order")))
        var next = ActivityType(name: "NextUp", attributesType: "NextUpAttributes", policy: policy)
        next.isProvided = true
        return AppSettings(
            bundleID: pizza.bundleID,
            types: [
                ActivityType(name: "OrderTracking", attributesType: "OrderTrackingAttributes", policy: policy), next,
            ], environments: [.sandbox])
    }()

    @Test func `every example is taken by the server, and answered as its answer is described`() async throws {
        #expect(Set(Self.order) == Set(Operation.all.values.map(\.id)) && Self.order.count == Operation.all.count)
        try await withServer { fixture in
            var configuration = LiveActivityServer.Configuration(apps: [Self.app])
            configuration.metrics = MetricsSources(
                registry: MetricsRegistry(), version: "1", startedAt: fixture.clock.now, connections: { [] })
            configuration.trials = TrialRecorder().trials()
            let server = LiveActivityServer(
                configuration: configuration, store: fixture.store, time: fixture.clock.source, dice: { 77 },
                logger: quiet)
            let key = try #require(fixture.keys[.backend]?.text)
            _ = try await fixture.store.webhook(WebhookKey(pizza.bundleID, "backend"))
            try await server.application.test(.router) { client in
                for id in Self.order {
                    let route = try #require(Route.all.first { $0.operation?.id == id })
                    let operation = try #require(route.operation)
                    let path = route.path.filled { operation.path[$0] ?? "?" }
                    let body = operation.request.map {
                        id == "batch" ? $0.example.replacing("\n", with: "") : $0.example
                    }
                    let reply = Reply(
                        try await client.executeRequest(
                            uri: path, method: route.method,
                            headers: route.scopes.isEmpty ? [:] : [.authorization: "Bearer \(key)"],
                            body: body.map { ByteBuffer(string: $0) }))
                    #expect(reply.status == 200, "\(id): \(reply.text)")
                    Described.check(route.method, path, body, reply)
                    guard let example = operation.answer?.example, !["describe", "readEvents"].contains(id) else {
                        continue
                    }
                    if id == "batch" { #expect(reply["/status"] == 200, "\(reply.text)") }
                    let expected = try #require(JSONValue(parsing: example).object)
                    let given = try #require(reply.json?.object, "\(id)")
                    #expect(Set(given.keys).isSubset(of: expected.keys), "\(id): \(reply.text)")
                }
            }
        }
    }
}
