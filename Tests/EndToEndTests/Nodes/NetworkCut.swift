import Foundation
import Testing

@testable import islet

/// Drops packets between processes of this machine, as a broken network does. Needs root and Debian's `nftables`.
///
/// A process is known by its group: sockets have the group of the process that made them.
final class NetworkCut: Sendable {
    /// The packets of a connection that are dropped.
    enum Direction: Sendable {
        /// From the process that has connected.
        case outbound
        /// To the process that has connected.
        case inbound
        case both
    }

    private let table = "islet_cut_\(getpid())"

    /// - Parameters:
    ///   - groups: The groups of the processes that connect.
    ///   - ports: The ports that they connect to.
    init(groups: [Int], ports: [UInt16]) throws {
        // Replies carry the mark of the group whose packets they answer.
        let marks = groups.flatMap { group in
            ports.map { "meta skgid \(group) tcp dport \($0) ct mark set \(group)" }
        }
        try Self.run(
            """
            table inet \(table) {
                chain marking { type filter hook output priority -10; \(marks.joined(separator: "; ")); }
                chain cutting { type filter hook output priority 0; }
            }
            """)
    }

    deinit { try? Self.run("delete table inet \(table)") }

    /// Cuts the connections of a group to a port.
    func cut(_ group: Int, to port: UInt16, _ direction: Direction) throws {
        var rules: [String] = []
        if direction != .inbound { rules.append("meta skgid \(group) tcp dport \(port) drop") }
        if direction != .outbound { rules.append("ct mark \(group) tcp sport \(port) drop") }
        try Self.run(rules.map { "add rule inet \(table) cutting \($0)" }.joined(separator: "\n"))
    }

    func heal() throws { try Self.run("flush chain inet \(table) cutting") }

    private static func run(_ commands: String) throws {
        let nft = Process()
        nft.executableURL = URL(fileURLWithPath: "/usr/sbin/nft")
        nft.arguments = ["-f", "-"]
        let input = Pipe()
        nft.standardInput = input
        try nft.run()
        try input.fileHandleForWriting.write(contentsOf: Data(commands.utf8))
        try input.fileHandleForWriting.close()
        nft.waitUntilExit()
        guard nft.terminationStatus == 0 else { throw DemoFailure("nft refuses: \(commands)") }
    }
}
