package import APNSModel
import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
package import ServiceLifecycle

/// The listeners of a process. They listen as long as it runs, whether it owns the database or not.
package struct NodeListeners: Sendable {
    /// The API, as callers reach it.
    package let api: any Service
    /// The API, as other nodes reach it; `nil` if there are no others.
    package let peers: (any Service)?
    /// The listener for monitoring, if it is configured.
    package let watchers: (any Service)?

    /// - Parameters:
    ///   - configuration: Addresses, certificates and limits.
    ///   - peers: Address for other nodes, and the text that their calls contain; `nil` if there are no others.
    ///   - servesMetrics: `true` if the process answers `GET /metrics`.
    ///   - onListening: Called once the API's port is bound.
    package init(
        _ configuration: LiveActivityServer.Configuration, peers: (host: String, port: Int, secret: String)? = nil,
        servesMetrics: Bool, desk: NodeDesk, time: TimeSource, logger: Logger,
        onListening: @escaping @Sendable (LiveActivityServer.Address) async -> Void
    ) {
        let limits = configuration.limits
        let door = NodeDoor(
            desk: desk, limits: limits,
            metrics: .init(
                isServed: servesMetrics,
                listensApart: configuration.metricsListener != nil), logger: logger)
        func front(
            _ host: String, _ port: Int, socket: CInt? = nil, _ limits: LiveActivityServer.Limits,
            onListening: @escaping @Sendable (LiveActivityServer.Address) async -> Void = { _ in },
            answer: @escaping @Sendable (Request, String) async throws -> Answered
        ) -> Front {
            Front(
                channel: FrontChannel(
                    certificates: configuration.certificates, limits: limits, logger: logger,
                    responder: Responder.writing(time, answer)),
                host: host, port: port, socket: socket, limits: limits, logger: logger, onListening: onListening)
        }
        api = front(
            configuration.host, configuration.port, socket: configuration.socket, limits, onListening: onListening,
            answer: door.answer)
        self.peers = peers.map { peers in
            var ofPeers = limits
            ofPeers.connectionsPerAddress = limits.connections
            let ofNodes = front(peers.host, peers.port, ofPeers) { request, _ in
                try await Self.answerPeer(request, peers.secret, desk)
            }
            return NamedFront(setting: "nodes.listen", front: ofNodes)
        }
        watchers = configuration.metricsListener.map { listener in
            var limits = limits
            limits.connections = limits.metricsConnections
            return NamedFront(
                setting: "metrics.listen",
                front: front(
                    listener.host, listener.port, limits, onListening: listener.onListening, answer: door.watch))
        }
    }

    /// All of them, in the order in which they start.
    package var all: [any Service] { [peers, api, watchers].compactMap { $0 } }

    /// Compares in a time that does not depend on where the texts differ.
    private static func isEqual(_ shown: String, _ secret: String) -> Bool {
        shown.utf8.count == secret.utf8.count
            && zip(shown.utf8, secret.utf8).reduce(0 as UInt8) { $0 | $1.0 ^ $1.1 } == 0
    }

    /// Answers a call that another node passes on.
    private static func answerPeer(_ request: Request, _ secret: String, _ desk: NodeDesk) async throws -> Answered {
        let shown = NodeDoor.Header.secret.flatMap { request.headers[$0] }
        guard Self.isEqual(shown ?? "", secret), let (seat, place) = desk.here() else {
            let headers: HTTPFields = NodeDoor.Header.secret.map { [$0: "no"] } ?? [:]
            return Answered(Response(status: .misdirectedRequest, headers: headers))
        }
        let caller = NodeDoor.Header.caller.flatMap { request.headers[$0] } ?? ""
        return Answered(try await seat.api(request, caller), place)
    }
}
