import APNSModel
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A small document that is read over HTTPS, from where a configuration says, and of which no more is believed than its
/// limits allow: redirects are not followed, and addresses inside a network are refused.
package struct DocumentAddress: Sendable {
    /// Why there is none, in words for the log.
    package struct Failure: Error, Sendable, Equatable {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package struct Document: Sendable, Equatable {
        package var bytes: [UInt8]
        package var cacheControl: String?
    }

    private let url: String
    private let place: HostPlace
    private let allowPrivate: Bool
    private let maximumBytes: Int
    private let timeout: Duration
    private let clock: any Clock<Duration>
    private let connections: ProviderConnections

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    package init?(
        _ url: String, allowPrivate: Bool, maximumBytes: Int, timeout: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock(), _ connections: ProviderConnections
    ) {
        guard HTTPProvider.isAllowed(url, allowPrivate: allowPrivate), let place = HostPlace(url) else { return nil }
        self.url = url
        self.place = place
        self.allowPrivate = allowPrivate
        self.maximumBytes = maximumBytes
        self.timeout = timeout
        self.clock = clock
        self.connections = connections
    }

    @concurrent
    package func read() async throws(Failure) -> Document {
        if !allowPrivate, let problem = await place.problem() { throw Failure(description: problem) }
        // The client's own deadline ends with the head of the answer: a body could go on for ever.
        let result = await withTaskGroup(of: Result<Document, Failure>.self) { group in
            group.addTask {
                do throws(Failure) { return .success(try await fetch()) } catch { return .failure(error) }
            }
            group.addTask {
                try? await clock.sleep(for: timeout)
                return .failure(tooLate)
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(tooLate)
        }
        return try result.get()
    }

    private var tooLate: Failure { Failure(description: "no answer within \(timeout)") }

    private func fetch() async throws(Failure) -> Document {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "user-agent", value: "Islet")
        do {
            let response = try await connections.client.execute(
                request, timeout: .nanoseconds(timeout.wholeNanoseconds))
            guard response.status == .ok else { throw Failure(description: "HTTP \(response.status.code)") }
            let bytes = Array(try await response.body.collect(upTo: maximumBytes).readableBytesView)
            let directives = response.headers[canonicalForm: "cache-control"].joined(separator: ",")
            return Document(bytes: bytes, cacheControl: directives.isEmpty ? nil : directives)
        } catch let failure as Failure {
            throw failure
        } catch is NIOTooManyBytesError {
            throw Failure(description: "the answer has more than \(maximumBytes) bytes")
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout {
            throw tooLate
        } catch {
            throw Failure(description: "the call failed: \(type(of: error))")
        }
    }
}

/// Where a URL leads.
struct HostPlace: Sendable {
    let host: String
    let port: Int

    init?(_ text: String) {
        guard let url = URL(string: text), let host = url.host else { return nil }
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? (url.scheme == "https" ? 443 : 80)
    }

    /// Where its name leads, in words where that is not the public Internet.
    enum Standing {
        case unknown(String)
        case isPrivate(String)
        case isPublic
    }

    /// Every address of the host is looked at: a name that leads inside is private, whichever is tried first.
    func standing() async -> Standing {
        let addresses: [[UInt8]]
        do {
            let (host, port) = (host, port)
            addresses = try await NIOThreadPool.singleton.runIfActive { HostAddresses.find(host, port: port) }
        } catch {
            return .unknown("its host cannot be looked up")
        }
        if addresses.isEmpty { return .unknown("the name of its host is not known") }
        return addresses.allSatisfy(PublicAddress.isPublic)
            ? .isPublic : .isPrivate("its address is private, and `allowPrivate` is not set")
    }

    /// Why nothing is sent there; `nil`: it may be.
    func problem() async -> String? {
        switch await standing() {
        case .unknown(let problem), .isPrivate(let problem): problem
        case .isPublic: nil
        }
    }
}
