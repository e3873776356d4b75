import APNSModel
import Foundation
import JSONText
import LiveActivityAPI
package import LiveActivityCore
package import OutboundHTTP
import ServiceLifecycle

/// Connections to the app's backends, for as long as the server runs.
package final class ProviderConnections: Service {
    /// Maximum time for lookup, TCP and TLS.
    static let connectTimeout = Duration.seconds(5)

    let client: OutboundClient

    package init(_ client: OutboundClient = OutboundClient(connectTimeout: connectTimeout)) {
        self.client = client
    }

    /// Waits for the shutdown, then closes the connections.
    package func run() async throws {
        try? await gracefulShutdown()
        close()
    }

    /// Closes the connections. Call it if `run()` is never called.
    package func close() {
        client.stop()
    }
}

/// Provider that asks the app's backend with a signed call. It follows no redirects, and accepts an answer only within
/// its limits.
package struct HTTPProvider: Sendable {
    /// Maximum size of an answer in bytes.
    package static let maximumAnswerBytes = 64 * 1024

    package struct Target: Sendable {
        package var url: String
        package var secret: WebhookSecret
        package var timeout: Duration
        /// `true` to allow plain HTTP, and addresses that are not on the public Internet.
        package var allowPrivate: Bool

        package init(url: String, secret: WebhookSecret, timeout: Duration = .seconds(10), allowPrivate: Bool = false) {
            self.url = url
            self.secret = secret
            self.timeout = timeout
            self.allowPrivate = allowPrivate
        }

        /// Scheme, host and port of the URL. The rest may be a secret and is never shown.
        package var origin: String { HTTPProvider.origin(of: url) }
    }

    private let call: SignedCall

    /// Creates the provider. Returns `nil` unless the URL is `https` with a host, without a user. With `allowPrivate`,
    /// `http` is also accepted.
    package init?(_ target: Target, _ connections: ProviderConnections) {
        guard let call = SignedCall(target, connections) else { return nil }
        self.call = call
    }

    /// Returns scheme, host and port of a URL.
    package static func origin(of url: String) -> String {
        guard let url = URL(string: url), let scheme = url.scheme, let host = url.host else { return "" }
        return "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)"
            + (url.port.map { ":\($0)" } ?? "")
    }

    package static func isAllowed(_ text: String, allowPrivate: Bool) -> Bool {
        guard let url = URL(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.fragment == nil
        else { return false }
        return url.scheme == "https" || (url.scheme == "http" && allowPrivate)
    }

    @concurrent
    package func answer(to question: RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer? {
        let id =
            "msg_" + String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
        let response: OutboundAnswer
        do throws(SignedCall.Failure) {
            response = try await call.post(
                Self.body(of: question), id: id, at: question.now, answerBytes: Self.maximumAnswerBytes)
        } catch {
            switch error {
            case .late(let problem): throw RefreshFailure(.timeout, problem)
            case .place(let problem), .broken(let problem): throw RefreshFailure(.unreachable, problem)
            }
        }
        guard !response.isCut else {
            throw RefreshFailure(.invalid, OutboundError.tooLong(Self.maximumAnswerBytes).description)
        }
        switch response.status {
        case 204: return nil
        case 200..<300: return try Self.answer(response.body)
        case 429, 500...: throw RefreshFailure(.unavailable, "HTTP \(response.status)")
        default: throw RefreshFailure(.refused, "HTTP \(response.status)")
        }
    }

    // MARK: - The call

    private static func body(of question: RefreshQuestion) -> [UInt8] {
        var body: JSONObject = [
            "app": .string(question.app.text), "type": .string(question.type), "user": .string(question.user.text),
            "devices": .array(question.devices.map { .string($0.text) }), "timeZone": .string(question.zone),
            "localDay": .string(question.day), "now": .string(question.now.description),
        ]
        body["memo"] = question.memo
        return JSONValue.object(body).bytes
    }

    // MARK: - The answer

    private struct AnswerBody: Decodable {
        var state: JSONObject?
        var attributes: JSONObject?
        var memo: JSONValue?
        var relevance: Double?
        var staleAt: LiveActivityAPI.Instant?
        var alert: Alert?
        var priority: ActivityRequest.Priority?
        var askAgainAt: LiveActivityAPI.Instant?
    }

    private static func answer(_ bytes: [UInt8]) throws(RefreshFailure) -> RefreshAnswer? {
        guard let value = try? JSONValue(parsing: bytes), let object = value.object, object["state"] != nil else {
            throw RefreshFailure(.invalid, "the answer is not a JSON object with `state`")
        }
        let body: AnswerBody
        do throws(JSONDecodingError) {
            body = try value.decode(AnswerBody.self)
        } catch {
            throw RefreshFailure(.invalid, "`\(error.pointer)` is missing or invalid")
        }
        guard let state = body.state else { return nil }
        var answer = RefreshAnswer(state: state)
        answer.attributes = body.attributes
        answer.memo = body.memo
        answer.relevance = body.relevance
        answer.staleAt = body.staleAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
        answer.alert = body.alert.map { alert in
            var wish = SetDesiredState.AlertWish(
                PushAlert(title: text(alert.title), body: alert.body.map(text), sound: alert.sound))
            wish.id = alert.id
            if let lifetime = alert.expiresAfter { wish.expiresAfter = .milliseconds(lifetime.milliseconds) }
            wish.keep = alert.keep ?? false
            wish.onUnknown = alert.onUnknown == .repeat ? .repeat : .drop
            return wish
        }
        answer.priority =
            switch body.priority {
            case .auto: .auto
            case .high: .high
            case .low, nil: .low
            }
        answer.askAgainAt = body.askAgainAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
        return answer
    }

    private static func text(_ text: AlertText) -> PushAlert.Text {
        switch text {
        case .text(let text): .text(text)
        case .localized(let key, let arguments): .localized(key: key, arguments: arguments)
        }
    }
}
