import Crypto
import Foundation
import HTTPTypes
public import Hummingbird
import JSONText
import LiveActivityProviders
import NIOCore

/// The backend's own small HTTP interface: goals and check-ins from anywhere, and Islet's questions if Islet is another
/// process.
///
/// - `PUT /people/{person}/goals/{goal}` with `{title, order, weekdays?}`
/// - `PUT /people/{person}/check-ins/{goal}/{day}` with `{mark}`
/// - `POST /days/{day}`: makes everybody's check-ins of a day ahead
/// - `POST /islet`: what is next, asked by Islet with a signature
public struct NextUpBackend: Sendable {
    private let book: GoalBook
    private let secret: SymmetricKey?
    private let onChange: @Sendable ([String]) async -> Void
    /// The greatest distance in time of a signed call. Older and newer calls are refused, because somebody may be
    /// repeating them.
    private static let tolerance: TimeInterval = 300
    private static let maximumBodyBytes = 64 * 1024

    /// - Parameters:
    ///   - secret: The secret with which Islet signs, `whsec_…`. With `nil` nobody is answered at `/islet`.
    ///   - onChange: Called after each change with the people whom it concerns, to ask Islet for a refresh.
    public init(_ book: GoalBook, secret: String? = nil, onChange: @escaping @Sendable ([String]) async -> Void) {
        self.book = book
        self.secret = secret.flatMap { Data(base64Encoded: String($0.dropFirst("whsec_".count))) }
            .map { SymmetricKey(data: $0) }
        self.onChange = onChange
    }

    private struct GoalBody: Decodable {
        var title: String
        var order: Int
        var weekdays: Set<Int>?
    }

    private struct CheckInBody: Decodable {
        var mark: CheckIn.Mark
    }

    /// The routes, for a Hummingbird server.
    public func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.put("people/:person/goals/:goal") { request, context in
            let person = try context.parameters.require("person")
            let body: GoalBody = try await Self.body(of: request)
            let goal = Goal(
                id: try context.parameters.require("goal"), title: body.title, order: body.order,
                weekdays: body.weekdays ?? [1, 2, 3, 4, 5, 6, 7])
            try book.set(goal, of: person)
            await onChange([person])
            return HTTPResponse.Status.noContent
        }
        router.put("people/:person/check-ins/:goal/:day") { request, context in
            let person = try context.parameters.require("person")
            let body: CheckInBody = try await Self.body(of: request)
            guard let day = Day(try context.parameters.require("day")) else { throw HTTPError(.badRequest) }
            try book.checkIn(
                CheckIn(goal: try context.parameters.require("goal"), day: day, mark: body.mark), of: person)
            await onChange([person])
            return HTTPResponse.Status.noContent
        }
        router.post("days/:day") { _, context in
            guard let day = Day(try context.parameters.require("day")) else { throw HTTPError(.badRequest) }
            await onChange(try book.prepare(day))
            return HTTPResponse.Status.noContent
        }
        router.post("islet") { request, _ in try await answer(request) }
        return router
    }

    private static func body<Body: Decodable>(of request: Request) async throws -> Body {
        let bytes = try await request.body.collect(upTo: maximumBodyBytes)
        do {
            return try JSONDecoder().decode(Body.self, from: Data(bytes.readableBytesView))
        } catch {
            throw HTTPError(.badRequest)
        }
    }

    // MARK: - Islet asks

    private func answer(_ request: Request) async throws -> Response {
        let bytes = Data(try await request.body.collect(upTo: Self.maximumBodyBytes).readableBytesView)
        guard isSigned(request.headers, bytes) else { throw HTTPError(.unauthorized) }
        guard let question = (try? JSONValue(parsing: bytes))?.object, let person = question["user"]?.string,
            let day = question["localDay"]?.string.flatMap({ Day($0) })
        else { throw HTTPError(.badRequest) }
        let lock = try? question["memo"]?.decode(Today.Lock.self)
        guard let today = book.today(of: person, on: day, lock: lock) else { return Response(status: .noContent) }
        let answer: JSONObject = [
            "state": try JSONValue(encoding: today.state), "memo": try JSONValue(encoding: today.lock),
            "attributes": try JSONValue(encoding: NextUpAttributes(person: person)),
        ]
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: JSONValue.object(answer).bytes)))
    }

    /// Returns `true` if Islet itself asks, and just now (https://www.standardwebhooks.com).
    private func isSigned(_ headers: HTTPFields, _ body: Data) -> Bool {
        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
        guard let secret, let id = header("webhook-id"), let time = header("webhook-timestamp"),
            let seconds = TimeInterval(time), abs(Date().timeIntervalSince1970 - seconds) < Self.tolerance
        else { return false }
        var signed = Data("\(id).\(time).".utf8)
        signed.append(body)
        return (header("webhook-signature") ?? "").split(separator: " ").contains { signature in
            guard signature.hasPrefix("v1,"), let code = Data(base64Encoded: String(signature.dropFirst(3))) else {
                return false
            }
            return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: secret)
        }
    }
}
