import NIOCore

/// How many connections each remote address has: no one address may take all the room.
struct AddressRoom: Sendable {
    private let places: Places
    private let share: Int

    init(_ limits: LiveActivityServer.Limits) {
        places = Places(maximum: .max)
        share = limits.connectionsPerAddress
    }

    /// Room for one connection more, until it is dropped; `nil` where there is none.
    func take(for address: SocketAddress?) -> Places.Place? {
        places.take(of: Self.label(address), upTo: share)
    }

    /// The prefix of an IPv4 address written as IPv6, as a listener for both has it: `::ffff:192.0.2.7`.
    private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// An IPv4 address as it is, also one that is written as IPv6, and of any other IPv6 one the network of 64 bits:
    /// the rest is chosen by whoever has that.
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

/// Closes a connection for which its address has no room.
///
/// It does so once the connection is active. One that is closed before is not finished by what was set up for it, and
/// swift-nio ends the process for that.
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
