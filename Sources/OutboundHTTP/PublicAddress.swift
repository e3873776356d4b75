import Foundation
import NIOCore
import PeerIdentity

/// Test for addresses on the public Internet. A call to any other address may reach an internal service by mistake or
/// by attack.
package enum PublicAddress {
    /// IPv4 networks that are not public, as first address and prefix length (IANA's special-purpose registry, RFC
    /// 6890).
    private static let networks: [(UInt32, Int)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
        (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15),
        (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 3),
    ]

    /// Returns whether an address is on the public Internet.
    ///
    /// - Parameter address: The 4 bytes of an IPv4 address, or the 16 bytes of an IPv6 address.
    package static func isPublic(_ address: [UInt8]) -> Bool {
        switch address.count {
        case 4:
            let word = word(address[...])
            return !networks.contains { network, length in word >> (32 - length) == network >> (32 - length) }
        case 16:
            // An IPv6 address may contain an IPv4 address: mapped (RFC 4291), or behind 6to4 (RFC 3056).
            if address.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] {
                return isPublic(Array(address[12...]))
            }
            if address.prefix(2) == [0x20, 0x02] { return isPublic(Array(address[2..<6])) }
            // Only 2000::/3 is assigned. Within it, Teredo and the addresses for documentation are not public.
            return address[0] & 0xE0 == 0x20 && address.prefix(4) != [0x20, 0x01, 0, 0]
                && address.prefix(4) != [0x20, 0x01, 0x0D, 0xB8]
        default: return false
        }
    }

    static func isPublic(_ address: SocketAddress) -> Bool {
        isPublic(address.addressBytes)
    }

    /// Returns the bytes of a text such as `192.0.2.1` or `2001:db8::1`; `nil` for other text.
    package static func bytes(of text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
