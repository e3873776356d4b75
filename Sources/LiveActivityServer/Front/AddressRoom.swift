import NIOCore

/// The count of connections of each remote address. It keeps one address from taking all of them.
struct AddressRoom: Sendable {
    private let places: Places
    private let share: Int

    init(_ limits: LiveActivityServer.Limits) {
        places = Places(maximum: .max)
        share = limits.connectionsPerAddress
    }

    /// Takes a place for one more connection, held until it is released. Returns `nil` if the address has no place
    /// left.
    func take(for address: SocketAddress?) -> Places.Place? {
        places.take(of: Self.label(address), upTo: share)
    }

    /// The prefix of an IPv4 address in IPv6 notation, as a dual-stack listener reports it: `::ffff:192.0.2.7`.
    private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// Returns a label: the whole IPv4 address, also if it is in IPv6 notation, or the 64-bit network of an IPv6
    /// address.
    ///
    /// The owner of an IPv6 network chooses the lower 64 bits freely, so they are ignored.
    static func label(_ address: SocketAddress?) -> String {
        guard let address else { return "" }
        return address.withSockAddr { start, size in
            let all = UnsafeRawBufferPointer(start: start, count: size)
            let bytes: Range<Int>
            switch address {
            case .v4: bytes = 4..<8
            case .v6: bytes = all[8..<20].elementsEqual(mapped) ? 20..<24 : 8..<16
            case .unixDomainSocket: return ""
            }
            return all[bytes].map { String($0, radix: 16) }.joined(separator: ".")
        }
    }
}

/// A channel handler that closes a connection if its address has no place left.
///
/// It closes the connection only once it is active. If the connection is closed earlier, the asynchronous channel that
/// was set up for it is never finished, and swift-nio ends the process for that.
final class AddressGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let room: AddressRoom
    private var place: Places.Place?

    init(_ room: AddressRoom) {
        self.room = room
    }

    func channelActive(context: ChannelHandlerContext) {
        place = room.take(for: context.channel.remoteAddress)
        context.fireChannelActive()
        if place == nil { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        place = nil
        context.fireChannelInactive()
    }
}
